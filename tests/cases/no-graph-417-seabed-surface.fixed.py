import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(417)


class HeightField(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, width), nn.Softplus(beta=5), nn.Linear(width, width), nn.Softplus(beta=5), nn.Linear(width, 1, bias=False))

    def forward(self, xy):
        return self.layers(xy).squeeze(-1)

    def slope(self, xy):
        xy = xy.clone().requires_grad_()
        height = self(xy)
        return torch.autograd.grad(height, xy, grad_outputs=torch.ones_like(height), create_graph=True)[0]

    def normals(self, xy):
        slope = self.slope(xy)
        up = torch.ones(len(xy), 1)
        return F.normalize(torch.cat([-slope, up], dim=1), dim=1)


def sonar(count):
    xy = torch.rand(count, 2) * 2 - 1
    dx = 1.5 * torch.cos(3 * xy[:, 0])
    dy = -0.8 * xy[:, 1]
    return xy, F.normalize(torch.stack([-dx, -dy, torch.ones(count)], dim=1), dim=1)


def fit(field, steps=40):
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)
    for step in range(steps):
        xy, measured = sonar(128)
        loss = (1 - (field.normals(xy) * measured).sum(dim=1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step:3d} misalignment {loss.item():.4f}")


if __name__ == "__main__":
    fit(HeightField())
