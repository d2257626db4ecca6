import torch
import torch.nn as nn

torch.manual_seed(33)


class SoftThreshold(nn.Module):
    def __init__(self, channels, start=0.1):
        super().__init__()
        self.cutoff = nn.Parameter(torch.full((channels,), start))

    def forward(self, x):
        limit = self.cutoff.abs()[:, None]
        return torch.sign(x) * torch.relu(x.abs() - limit)


class Shrinker(nn.Module):
    def __init__(self, taps=9, channels=8):
        super().__init__()
        self.analysis = nn.Conv1d(1, channels, taps, padding=taps // 2)
        self.shrink = SoftThreshold(channels)
        self.synthesis = nn.Conv1d(channels, 1, taps, padding=taps // 2)

    def forward(self, noisy):
        return self.synthesis(self.shrink(self.analysis(noisy)))


def signals(n=16, length=64):
    t = torch.linspace(0, 1, length)
    freq = 2 + 6 * torch.rand(n, 1)
    clean = torch.sin(6.28 * freq * t).unsqueeze(1)
    return clean + 0.5 * torch.randn_like(clean), clean


net = Shrinker()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(60):
    noisy, clean = signals()
    loss = (net(noisy) - clean).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4), [round(v, 3) for v in net.shrink.cutoff[:3].tolist()])
