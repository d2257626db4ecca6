import numpy as np
import torch
from torch import nn


class Upsampler(nn.Module):
    def __init__(self, mels=10, hidden=12, factor=16):
        super().__init__()
        self.pre = nn.Conv1d(mels, hidden, 5, padding=2)
        self.up = nn.ConvTranspose1d(hidden, hidden, 2 * factor, stride=factor, padding=factor // 2)
        self.post = nn.utils.parametrizations.weight_norm(nn.Conv1d(hidden, 1, 7, padding=3))

    def forward(self, mel):
        hidden = nn.functional.leaky_relu(self.pre(mel), 0.1)
        hidden = nn.functional.leaky_relu(self.up(hidden), 0.1)
        return torch.tanh(self.post(hidden)).squeeze(1)


class Frames:
    def __init__(self, size, hop):
        self.size, self.hop = size, hop
        self.window = np.hanning(size).astype(np.float32)

    def __call__(self, wave):
        samples = wave
        starts = range(0, samples.shape[-1] - self.size + 1, self.hop)
        cut = torch.stack([samples[:, s : s + self.size] for s in starts], dim=1)
        return cut * torch.from_numpy(self.window)


class SpectralLoss(nn.Module):
    def __init__(self, sizes=(32, 64)):
        super().__init__()
        self.frames = [Frames(size, size // 4) for size in sizes]

    def magnitude(self, frames):
        return torch.fft.rfft(frames, dim=-1).abs().clamp_min(1e-5)

    def forward(self, fake, real):
        total = 0.0
        for frames in self.frames:
            a, b = self.magnitude(frames(fake)), self.magnitude(frames(real))
            total = total + (a - b).norm() / b.norm() + (a.log() - b.log()).abs().mean()
        return total / len(self.frames)


def batches(n):
    rng = np.random.default_rng(7)
    for _ in range(n):
        mel = torch.from_numpy(rng.standard_normal((2, 10, 12)).astype(np.float32))
        t = torch.linspace(0, 1, 192)
        yield mel, torch.sin(2 * np.pi * 8 * t).expand(2, -1)


torch.manual_seed(2)
net, criterion = Upsampler(), SpectralLoss()
opt = torch.optim.NAdam(net.parameters(), lr=1e-3)
for step, (mel, wave) in enumerate(batches(4)):
    loss = criterion(net(mel), wave)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"step {step}: {loss.item():.4f}")
