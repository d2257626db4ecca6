import math

import torch
from torch import nn

torch.manual_seed(29)


class Metric:
    higher_is_better = True

    def __init__(self):
        self.total, self.count = 0.0, 0

    def compute(self):
        return self.total / max(self.count, 1)

    @torch.no_grad()
    def __call__(self, estimate, target):
        value = self.score(estimate, target)
        self.total += value.sum().item()
        self.count += value.numel()
        return value.mean()


class SISDR(Metric):
    def __init__(self, eps=1e-8):
        super().__init__()
        self.eps = eps

    def score(self, estimate, target):
        target = target - target.mean(-1, keepdim=True)
        estimate = estimate - estimate.mean(-1, keepdim=True)
        scale = (estimate * target).sum(-1, keepdim=True) / (target.square().sum(-1, keepdim=True) + self.eps)
        wanted = scale * target
        ratio = wanted.square().sum(-1) / ((estimate - wanted).square().sum(-1) + self.eps)
        return 10 * torch.log10(ratio + self.eps)


class Separator(nn.Module):
    def __init__(self, filters=24, kernel=16):
        super().__init__()
        self.encode = nn.Conv1d(1, filters, kernel, stride=kernel // 2)
        self.mask = nn.Sequential(nn.Conv1d(filters, filters, 3, padding=1), nn.Sigmoid())
        self.decode = nn.ConvTranspose1d(filters, 1, kernel, stride=kernel // 2)

    def forward(self, mixture):
        h = self.encode(mixture[:, None])
        return self.decode(h * self.mask(h)).squeeze(1)


def mixtures(count, length=160):
    time = torch.arange(length) / length
    pitch = 3 + 9 * torch.rand(count, 1)
    voice = torch.sin(2 * math.pi * pitch * time)
    return voice + 0.5 * torch.randn(count, length), voice


def negative(metric):
    return lambda estimate, target: -metric.score(estimate, target).mean()


def main(epochs=3):
    quality = SISDR()
    criterion = negative(SISDR())
    model = Separator()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        mixture, voice = mixtures(64)
        for mix, clean in zip(mixture.split(16), voice.split(16)):
            gain = mix.detach().abs().amax(-1, keepdim=True)
            loss = criterion(model(mix / gain) * gain, clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            mix, clean = mixtures(32)
            quality(model(mix), clean)
        print(f"epoch {epoch} loss {loss.item():.3f} SI-SDR {quality.compute():.2f} dB")


if __name__ == "__main__":
    main()
