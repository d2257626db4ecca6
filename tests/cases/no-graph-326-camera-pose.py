import numpy as np
import torch
from torch import nn

torch.manual_seed(99)
np.random.seed(99)


class RadianceField(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, hidden), nn.Softplus(), nn.Linear(hidden, 4))

    def forward(self, points):
        raw = self.net(points)
        return torch.sigmoid(raw[..., :3]), nn.functional.softplus(raw[..., 3])


class Camera:
    def __init__(self, side=12, focal=14.0):
        self.side, self.focal = side, focal
        i, j = np.meshgrid(np.arange(side), np.arange(side), indexing="xy")
        self.directions = np.stack([(i - side / 2) / focal, -(j - side / 2) / focal, -np.ones_like(i, dtype=float)], -1)

    def rays(self, pose, pixels):
        pose = pose.detach().cpu().numpy()
        chosen = self.directions.reshape(-1, 3)[pixels]
        directions = (chosen[:, None, :] * pose[:3, :3]).sum(-1)
        origins = np.broadcast_to(pose[:3, 3], directions.shape)
        return torch.from_numpy(origins.astype(np.float32)), torch.from_numpy(directions.astype(np.float32))


def pose_matrix(twist):
    zero = torch.zeros(())
    x, y, z = twist[:3]
    skew = torch.stack([torch.stack([zero, -z, y]), torch.stack([z, zero, -x]), torch.stack([-y, x, zero])])
    top = torch.cat([torch.matrix_exp(skew), twist[3:, None]], 1)
    return torch.cat([top, torch.tensor([[0.0, 0.0, 0.0, 1.0]])], 0)


def composite(field, origins, directions, depths):
    points = origins[:, None] + directions[:, None] * depths[..., None]
    colour, density = field(points)
    gaps = torch.cat([depths[:, 1:] - depths[:, :-1], torch.full_like(depths[:, :1], 0.2)], 1)
    alpha = 1 - torch.exp(-density * gaps)
    through = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-8], 1), 1)[:, :-1]
    weights = alpha * through
    return (weights[..., None] * colour).sum(1), weights


def render(field, origins, directions, coarse=12, fine=12):
    depths = torch.linspace(1, 4, coarse).expand(len(origins), coarse)
    rough, weights = composite(field, origins, directions, depths)
    cdf = torch.cumsum(weights.detach() + 1e-4, 1)
    places = torch.searchsorted(cdf / cdf[:, -1:], torch.rand(len(origins), fine)).clamp(max=coarse - 1)
    extra = depths.gather(1, places) + 0.2 * torch.rand(len(origins), fine)
    depths = torch.cat([depths, extra], 1).sort(1).values
    return rough, composite(field, origins, directions, depths)[0]


def register(field, camera, photo, steps=15):
    field.requires_grad_(False)
    twist = torch.zeros(6, requires_grad=True)
    optimizer = torch.optim.Adam([twist], lr=1e-2)
    for step in range(steps):
        pixels = np.random.choice(len(photo), 48, replace=False)
        rough, sharp = render(field, *camera.rays(pose_matrix(twist), pixels))
        loss = (rough - photo[pixels]).square().mean() + (sharp - photo[pixels]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.5f}")


register(RadianceField(), Camera(), torch.rand(144, 3))
