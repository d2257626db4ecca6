import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.down(nn.functional.silu(self.up(self.norm(x))))


class WindModel(nn.Module):
    def __init__(self, sensors=9, dim=20, depth=3):
        super().__init__()
        self.inp = nn.Linear(sensors, dim)
        self.blocks = nn.ModuleList([Residual(dim) for _ in range(depth)])
        self.out = nn.Linear(dim, 2)

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def readings(n=64):
    x = torch.randn(n, 9)
    angle = x[:, :3].sum(1)
    return x, torch.stack([angle.cos(), angle.sin()], dim=1)


torch.manual_seed(5)
model = WindModel()
print("parameters:", sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
for step in range(80):
    x, y = readings()
    loss = nn.functional.smooth_l1_loss(model(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
