import torch
from torch import nn

torch.manual_seed(151)


class RadialField(nn.Module):
    """Signed distance to a surface as a sum of radial bumps."""

    def __init__(self, centres=18):
        super().__init__()
        self.centres = nn.Parameter(torch.rand(centres, 3) * 2 - 1)
        self.log_width = nn.Parameter(torch.zeros(centres))
        self.weight = nn.Parameter(0.1 * torch.randn(centres))
        self.level = nn.Parameter(torch.tensor(-0.5))

    def forward(self, points):
        gap = (points[:, None] - self.centres).norm(dim=2)
        bumps = torch.exp(-(gap / self.log_width.exp()).pow(2))
        return self.level + bumps @ self.weight


class SurfaceFit:
    def __init__(self, field, lr=1e-2, unit_weight=0.1):
        self.field, self.unit_weight = field, unit_weight
        self.optimizer = torch.optim.Adam(field.parameters(), lr=lr)

    def gradient(self, points):
        points = points.requires_grad_(True)
        value = self.field(points)
        return torch.autograd.grad(value.sum(), points, create_graph=True)[0]

    def step(self, surface, normals, free):
        on_surface = self.field(surface).abs().mean()
        direction = (1 - (self.gradient(surface.clone()) * normals).sum(dim=1)).mean()
        unit = (self.gradient(free).norm(dim=1) - 1).pow(2).mean()
        loss = on_surface + 0.1 * direction + self.unit_weight * unit
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def scan(n, radius=0.6):
    normals = nn.functional.normalize(torch.randn(n, 3), dim=1)
    return radius * normals, normals


def main(steps=40):
    fit = SurfaceFit(RadialField())
    for step in range(steps):
        surface, normals = scan(20)
        loss = fit.step(surface, normals, torch.rand(20, 3) * 2 - 1)
        if step % 10 == 0:
            print(f"step {step:2d}  loss {loss:.4f}")
    with torch.no_grad():
        print("field at the centre", fit.field(torch.zeros(1, 3)).item())


if __name__ == "__main__":
    main()
