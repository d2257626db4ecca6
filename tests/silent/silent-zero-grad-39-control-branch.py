import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(78)


def zeroed(layer):
    for p in layer.parameters():
        nn.init.zeros_(p)
    return layer


class Base(nn.Module):
    def __init__(self, dim=8, hidden=32):
        super().__init__()
        self.inp, self.out = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x, extra=None):
        h = torch.tanh(self.inp(x))
        return self.out(h if extra is None else h + extra)


class ControlBranch(nn.Module):
    def __init__(self, control=3, hidden=32):
        super().__init__()
        self.hint = zeroed(nn.Linear(control, hidden))
        self.mix = zeroed(nn.Linear(hidden, hidden))

    def forward(self, control):
        return self.mix(F.relu(self.hint(control)))


def samples(n=64):
    x, control = torch.randn(n, 8), torch.randn(n, 3)
    return x, control, x + control.sum(dim=1, keepdim=True)


base = Base().requires_grad_(False)
branch = ControlBranch()
optimizer = torch.optim.SGD(branch.parameters(), lr=0.05, momentum=0.9)
for step in range(60):
    x, control, y = samples()
    loss = F.mse_loss(base(x, branch(control)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
