import torch
from torch import nn
import torch.nn.functional as F


class Lens(nn.Module):
    def __init__(self, size=7):
        super().__init__()
        grid = torch.arange(size, dtype=torch.float32) - size // 2
        self.register_buffer("r2", grid[:, None] ** 2 + grid[None, :] ** 2)
        self.log_width = nn.Parameter(torch.tensor(1.0))

    def forward(self, image):
        kernel = torch.exp(-self.r2 / (2 * self.log_width.exp() ** 2))
        kernel = kernel / kernel.sum()
        return F.conv2d(image, kernel[None, None], padding=3)


class Focus:
    def __init__(self, lens, lr=0.05):
        self.lens = lens
        self.optimizer = torch.optim.Adam(lens.parameters(), lr=lr)
        self.best = (float("inf"), None)

    def sharpness(self, image):
        seen = self.lens(image)
        edges = seen.diff(dim=-1).pow(2).mean() + seen.diff(dim=-2).pow(2).mean()
        return edges

    def keep_best(self, value):
        if value < self.best[0]:
            self.best = (value, float(self.lens.log_width.detach().exp()))

    def adjust(self, image, wanted):
        gap = self.sharpness(image) - wanted
        loss = gap ** 2 * 1e4
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.keep_best(loss.item())
        return loss.item()


def texture(size=24):
    return torch.rand(1, 1, size, size).round()


torch.manual_seed(45)
image = texture()
reference = Lens()
reference.log_width.data.fill_(-0.3)
with torch.no_grad():
    seen = reference(image)
    wanted = (seen.diff(dim=-1).pow(2).mean() + seen.diff(dim=-2).pow(2).mean()).item()
focus = Focus(Lens())
for n in range(30):
    value = focus.adjust(image, wanted)
    if n % 6 == 0:
        print(f"{n:2d} {value:.4f} width {focus.lens.log_width.exp().item():.3f}")
print("best", focus.best)
