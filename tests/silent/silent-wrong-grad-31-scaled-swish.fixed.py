import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(140)


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad * (s + beta * x * s * (1 - s))
        grad_beta = (grad * x * x * s * (1 - s)).sum().view_as(beta)
        return grad_x, grad_beta


class Activation(nn.Module):
    def __init__(self, beta=4.0):
        super().__init__()
        self.beta = nn.Parameter(torch.tensor(beta))

    def forward(self, x):
        return Swish.apply(x, self.beta)


class Regressor(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, hidden), Activation(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


net = Regressor()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(80):
    x = torch.randn(64, 3)
    loss = F.mse_loss(net(x), x[:, 0] * x[:, 1] + x[:, 2])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
