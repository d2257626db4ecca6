import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)
trunk, left, right = nn.Linear(6, 16), nn.Linear(16, 1), nn.Linear(16, 3)
params = [*trunk.parameters(), *left.parameters(), *right.parameters()]
optimizer = torch.optim.Adam(params, lr=5e-3)
for step in range(30):
    x = torch.randn(32, 6)
    h = torch.relu(trunk(x))
    regression = F.mse_loss(left(h).squeeze(1), x.sum(dim=1))
    classes = F.cross_entropy(right(h), x[:, :3].argmax(dim=1))
    optimizer.zero_grad()
    regression.backward(retain_graph=True)
    classes.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, regression.item(), classes.item())
