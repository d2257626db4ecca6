import torch
from torch import nn

torch.manual_seed(14)


class FourierCurve(nn.Module):
    def __init__(self, order=4):
        super().__init__()
        self.order = order
        self.cosines = nn.Parameter(torch.zeros(order))
        self.sines = nn.Parameter(torch.zeros(order))
        self.offset = nn.Parameter(torch.zeros(()))

    def basis(self, t):
        k = torch.arange(1, self.order + 1, dtype=t.dtype)
        angle = 2 * torch.pi * t[:, None] * k
        return self.offset + torch.cos(angle) @ self.cosines + torch.sin(angle) @ self.sines

    def forward(self, t):
        curve = self.basis(t).data
        return curve

    def amplitude(self):
        return torch.hypot(self.cosines.data, self.sines.data).tolist()


def prices(n):
    t = torch.rand(n)
    p = 2 + torch.sin(2 * torch.pi * t) + 0.3 * torch.cos(6 * torch.pi * t)
    return t, p + 0.05 * torch.randn(n)


t, p = prices(200)
curve = FourierCurve()
optimizer = torch.optim.Adam(curve.parameters(), lr=0.1)
for it in range(30):
    pick = torch.randint(0, 200, (64,))
    fitted = curve(t[pick])
    loss = nn.functional.huber_loss(fitted, p[pick])
    ridge = sum((w.data ** 2).sum().item() for w in curve.parameters())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 10 == 0:
        print(f"{it:2d} huber {loss.item():.4f} ridge {ridge:.3f}")
print([round(a, 3) for a in curve.amplitude()])
