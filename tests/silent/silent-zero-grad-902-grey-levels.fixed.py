import torch
import torch.nn.functional as F
from torch import nn


class Quantiser(nn.Module):
    def __init__(self, levels=8):
        super().__init__()
        self.levels = levels

    def forward(self, z):
        return z + (torch.floor(z * self.levels + 0.5) / self.levels - z).detach()


class Codec(nn.Module):
    def __init__(self, channels=4):
        super().__init__()
        self.analysis = nn.Sequential(nn.Conv2d(1, channels, 4, stride=2, padding=1), nn.Sigmoid())
        self.quant = Quantiser()
        self.synthesis = nn.ConvTranspose2d(channels, 1, 4, stride=2, padding=1)

    def forward(self, image):
        code = self.quant(self.analysis(image))
        return self.synthesis(code), code


class MeanMeter:
    def __init__(self):
        self.sum = self.n = 0

    def add(self, value):
        self.sum, self.n = self.sum + float(value), self.n + 1

    @property
    def mean(self):
        return self.sum / max(self.n, 1)


def patches(steps, size=12):
    for _ in range(steps):
        ramp = torch.linspace(0, 1, size)
        angle = torch.rand(10, 1, 1)
        yield ((angle * ramp[None, :, None] + (1 - angle) * ramp[None, None, :])).unsqueeze(1)


def main():
    torch.manual_seed(13)
    codec = Codec()
    params = [{"params": codec.analysis.parameters(), "lr": 1e-3}, {"params": codec.synthesis.parameters()}]
    optimizer = torch.optim.Adam(params, lr=1e-2)
    meter = MeanMeter()
    for image in patches(25):
        restored, _ = codec(image)
        loss = F.mse_loss(restored, image)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(codec.parameters(), 5.0)
        optimizer.step()
        meter.add(loss)
    print(f"distortion {meter.mean:.4f}")
    return codec


codec = main()
assert max(p.grad.abs().max().item() for p in codec.analysis.parameters()) > 0
