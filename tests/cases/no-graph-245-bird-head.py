import torch
from torch import nn
import torch.nn.functional as F


class SongNet(nn.Module):
    def __init__(self, species):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(1, 8, 5, stride=2), nn.ReLU(),
            nn.Conv1d(8, 16, 5, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool1d(4), nn.Flatten(),
        )
        self.fc = nn.Linear(64, species)

    def forward(self, x):
        return self.fc(self.body(x))


def songs(n, species, base=3.0):
    kind = torch.randint(0, species, (n,))
    t = torch.linspace(0, 6.28, 64)
    wave = torch.sin(t * (base + 2 * kind[:, None]))
    return (wave + 0.2 * torch.randn(n, 64)).unsqueeze(1), kind


def pretrain(species=6, steps=40):
    net = SongNet(species)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(steps):
        x, y = songs(32, species)
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"pretrained: {loss.item():.3f}")
    return net


def adapt(net, species):
    net.fc = nn.Linear(net.fc.in_features, species)
    for p in net.parameters():
        p.requires_grad = False
    return net


torch.manual_seed(66)
net = adapt(pretrain(), species=3)
opt = torch.optim.SGD(net.fc.parameters(), lr=0.1)
for step in range(30):
    x, y = songs(32, 3, base=4.0)
    logits = net(x)
    loss = F.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4), logits.argmax(1).eq(y).float().mean().item())
