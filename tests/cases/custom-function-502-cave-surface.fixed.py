import torch
from torch import nn
from torch.autograd import Function, grad


class Waves(Function):
    """Sines and cosines of the coordinates at rising frequencies."""

    @staticmethod
    def forward(ctx, x, octaves):
        scale = 2.0 ** torch.arange(octaves, dtype=x.dtype)
        phase = x[..., None] * scale
        ctx.save_for_backward(phase, scale)
        return torch.cat([phase.sin(), phase.cos()], dim=-1).flatten(-2)

    @staticmethod
    def backward(ctx, grad_output):
        phase, scale = ctx.saved_tensors
        g_sin, g_cos = grad_output.unflatten(-1, (phase.shape[-2], -1)).chunk(2, dim=-1)
        return ((g_sin * phase.cos() - g_cos * phase.sin()) * scale).sum(-1), None


class DistanceField(nn.Module):
    def __init__(self, octaves=4, width=48):
        super().__init__()
        self.octaves = octaves
        self.net = nn.Sequential(nn.Linear(6 * octaves, width), nn.Softplus(beta=10), nn.Linear(width, 1))

    def forward(self, points):
        return self.net(Waves.apply(points, self.octaves)).squeeze(-1)


def scan(count, radius=0.5):
    direction = torch.nn.functional.normalize(torch.randn(count, 3), dim=-1)
    return radius * direction


def slopes(field, points):
    points = points.detach().requires_grad_()
    return grad(field(points).sum(), points, create_graph=True)[0]


def losses(field, surface, space):
    yield "surface", field(surface).abs().mean(), 1.0
    yield "unit slope", (slopes(field, space).norm(dim=-1) - 1).pow(2).mean(), 0.1


def reconstruct(steps=12):
    field = DistanceField()
    optimizer = torch.optim.Adam(field.parameters(), lr=2e-3)
    for step in range(steps):
        space = torch.rand(96, 3) * 2 - 1
        parts = list(losses(field, scan(96), space))
        total = sum(weight * value for _, value, weight in parts)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        print(step, "  ".join(f"{name} {value.item():.4f}" for name, value, _ in parts))


torch.manual_seed(14)
reconstruct()
