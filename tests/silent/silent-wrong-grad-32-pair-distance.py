import torch
import torch.nn as nn
import torch.nn.functional as F


class SquaredGap(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        gap = a - b
        ctx.save_for_backward(gap)
        return gap.pow(2).sum(dim=-1)

    @staticmethod
    def backward(ctx, grad):
        (gap,) = ctx.saved_tensors
        side = 2 * grad.unsqueeze(-1) * gap
        return side, side


class Siamese(nn.Module):
    def __init__(self, inputs=8, dim=6):
        super().__init__()
        self.left = nn.Sequential(nn.Linear(inputs, 24), nn.Tanh(), nn.Linear(24, dim))
        self.right = nn.Sequential(nn.Linear(inputs, 24), nn.Tanh(), nn.Linear(24, dim))

    def forward(self, a, b):
        return SquaredGap.apply(self.left(a), self.right(b))


def contrastive(gap, same, margin=1.0):
    return torch.where(same, gap, F.relu(margin - gap)).mean()


def views(n=64):
    a = torch.randn(n, 8)
    same = torch.rand(n) < 0.5
    b = torch.where(same[:, None], -a + 0.1 * torch.randn(n, 8), torch.randn(n, 8))
    return a, b, same


torch.manual_seed(141)
model = Siamese()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(60):
    a, b, same = views()
    loss = contrastive(model(a, b), same)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        print(step, round(loss.item(), 4))
