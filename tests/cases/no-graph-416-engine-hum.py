import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(416)


def conv_encoder(width=16):
    return nn.Sequential(
        nn.Conv1d(1, width, 9, stride=4), nn.ReLU(), nn.Conv1d(width, width, 5, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(width, 12))


class MomentumPair(nn.Module):
    def __init__(self, online, momentum=0.95):
        super().__init__()
        self.online = online
        self.slow = online
        self.momentum = momentum
        for p in self.slow.parameters():
            p.requires_grad = False

    @torch.no_grad()
    def follow(self):
        for slow, fast in zip(self.slow.parameters(), self.online.parameters()):
            slow.lerp_(fast, 1 - self.momentum)

    def forward(self, first, second):
        query = F.normalize(self.online(first), dim=1)
        with torch.no_grad():
            key = F.normalize(self.slow(second), dim=1)
        return query @ key.t() / 0.2


def views(wave):
    shift = int(torch.randint(0, 20, ()))
    noisy = wave + 0.1 * torch.randn_like(wave)
    return noisy, wave.roll(shift, dims=-1) * (0.8 + 0.4 * torch.rand(len(wave), 1, 1))


pair = MomentumPair(conv_encoder())
optimizer = torch.optim.SGD(pair.online.parameters(), lr=0.05, momentum=0.9)
pitch = torch.linspace(2, 20, 32).view(-1, 1, 1)
hum = torch.sin(pitch * torch.linspace(0, 6.28, 160)) + 0.3 * torch.sin(2.5 * pitch * torch.linspace(0, 6.28, 160))
for step in range(10):
    logits = pair(*views(hum))
    loss = F.cross_entropy(logits, torch.arange(len(hum)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    pair.follow()
    if step % 3 == 0:
        print(f"step {step} loss {loss.item():.4f}")
