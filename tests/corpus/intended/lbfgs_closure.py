import torch
import torch.nn as nn

torch.manual_seed(63)
net = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))
x = torch.linspace(-2, 2, 60).unsqueeze(1)
y = torch.sin(2 * x)
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=8, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    return loss


for i in range(8):
    loss = optimizer.step(closure)
    print(i, loss.item())
