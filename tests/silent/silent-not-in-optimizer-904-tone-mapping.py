import torch
from torch import nn


class ToneCurve(nn.Module):
    def __init__(self, knots=8):
        super().__init__()
        self.heights = nn.Parameter(torch.linspace(0, 1, knots))

    def forward(self, image):
        at = image.clamp(0, 1) * (len(self.heights) - 1)
        low = at.floor().long().clamp(max=len(self.heights) - 2)
        share = at - low
        return self.heights[low] * (1 - share) + self.heights[low + 1] * share


class Matcher:
    def __init__(self, curve, lr=0.02):
        self.curve = curve
        self.optimizer = torch.optim.Adam(curve.parameters(), lr=lr)
        self.best = float("inf")

    def update(self, image, wanted):
        error = (self.curve(image) - wanted).square().mean()
        self.optimizer.zero_grad()
        error.backward()
        self.optimizer.step
        self.best = min(self.best, error.item())
        return error.item()


torch.manual_seed(160)
curve = ToneCurve()
matcher = Matcher(curve)
for i in range(12):
    image = torch.rand(4, 8, 8)
    error = matcher.update(image, image.sqrt())
    if i % 4 == 0:
        print(i, f"{error:.5f}")
assert torch.equal(curve.heights, torch.linspace(0, 1, 8))
