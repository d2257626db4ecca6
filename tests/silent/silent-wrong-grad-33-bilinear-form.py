import torch
import torch.nn as nn
import torch.nn.functional as F


class Bilinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, u, v, m):
        ctx.save_for_backward(u, v, m)
        return ((u @ m) * v).sum(dim=1)

    @staticmethod
    def backward(ctx, grad):
        u, v, m = ctx.saved_tensors
        g = grad.unsqueeze(1)
        return g * (u @ m), g * (v @ m.t()), u.t() @ (g * v)


class Matcher(nn.Module):
    def __init__(self, inputs=7, dim=6):
        super().__init__()
        self.left, self.right = nn.Linear(inputs, dim), nn.Linear(inputs, dim)
        self.form = nn.Parameter(torch.eye(dim) + 0.1 * torch.randn(dim, dim))

    def forward(self, a, b):
        return Bilinear.apply(torch.tanh(self.left(a)), torch.tanh(self.right(b)), self.form)


def couples(n=64):
    a, b = torch.randn(n, 7), torch.randn(n, 7)
    return a, b, ((a[:, :3] * b[:, 1:4]).sum(dim=1) > 0).float()


torch.manual_seed(159)
matcher = Matcher()
optimizer = torch.optim.Adam(matcher.parameters(), lr=5e-3)
for step in range(60):
    a, b, y = couples()
    loss = F.binary_cross_entropy_with_logits(matcher(a, b), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
