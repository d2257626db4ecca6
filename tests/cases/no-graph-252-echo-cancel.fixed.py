import torch
from torch import nn

torch.manual_seed(92)


class EchoCanceller(nn.Module):
    def __init__(self, taps=15, channels=8):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, channels, taps, padding=taps // 2), nn.Tanh(),
            nn.Conv1d(channels, 1, taps, padding=taps // 2),
        )

    def forward(self, heard):
        return heard - self.net(heard)


def spectral_distance(a, b):
    fa, fb = torch.fft.rfft(a), torch.fft.rfft(b)
    return (fa.abs() - fb.abs()).abs().mean() + (a - b).abs().mean()


def unit(x):
    return x / x.abs().amax(dim=-1, keepdim=True).clamp(min=1e-4)


def utterances(n, length=128):
    pitch = torch.rand(n, 1, 1) * 0.3 + 0.1
    t = torch.arange(length).float()
    clean = torch.sin(pitch * t) * torch.hann_window(length)
    heard = clean + 0.5 * torch.roll(clean, 9, dims=-1)
    return clean, heard


def train_step(model, optimizer, clean, heard):
    estimate = model(unit(heard))
    target = unit(clean)
    loss = spectral_distance(estimate, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        left = (estimate - target).pow(2).mean().item()
    return loss.item(), left


model = EchoCanceller()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for n in range(30):
    loss, left = train_step(model, optimizer, *utterances(16))
    if n % 10 == 0:
        print(f"{n:2d} loss {loss:.4f} left {left:.5f}")
