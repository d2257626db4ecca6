
import torch
from torch import nn

torch.manual_seed(408)
RATE, SAMPLES = 400, 256


class Bell(nn.Module):
    def __init__(self, partials=5):
        super().__init__()
        self.freq = nn.Parameter(torch.linspace(20, 140, partials))
        self.decay = nn.Parameter(torch.full((partials,), 2.0))
        self.gain = nn.Parameter(torch.full((partials,), 0.3))

    def forward(self):
        t = torch.arange(SAMPLES) / RATE
        wave = torch.sin(2 * torch.pi * self.freq[:, None] * t) * torch.exp(-self.decay[:, None] * t)
        return self.gain @ wave


def spectrum(wave):
    window = torch.hann_window(SAMPLES, periodic=False)
    bins = torch.fft.rfft(wave * window)
    return torch.log1p(bins.abs())


def spectral_loss(wave, reference):
    return (spectrum(wave) - spectrum(reference)).pow(2).mean()


def strike():
    bell = Bell()
    with torch.no_grad():
        bell.freq += torch.tensor([1.5, -2.0, 3.0, 0.5, -1.0])
        bell.gain.uniform_(0.1, 0.6)
        return bell()


reference = strike()
model = Bell()
optimizer = torch.optim.Adam([{"params": [model.freq], "lr": 0.1}, {"params": [model.decay, model.gain]}], lr=0.01)
for i in range(60):
    optimizer.zero_grad()
    loss = spectral_loss(model(), reference)
    loss.backward()
    optimizer.step()
    if i % 20 == 0:
        print(f"{i:3d}  {loss.item():.5f}")
print("partials", [round(f, 1) for f in model.freq.tolist()])
