import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(23)


class SoundNet(nn.Module):
    def __init__(self, classes=4, width=8):
        super().__init__()
        self.classes = classes
        self.conv = nn.Sequential(
            nn.Conv1d(1, width, 7, stride=2), nn.ReLU(), nn.Conv1d(width, width, 5, stride=2), nn.ReLU())
        self.head = None

    def forward(self, wave):
        h = self.conv(wave).flatten(1)
        if self.head is None:
            self.head = nn.Linear(h.shape[1], self.classes)
        return self.head(h)


def clips(n=32, length=80):
    label = torch.randint(0, 4, (n,))
    t = torch.linspace(0, 1, length)
    wave = torch.sin(6.28 * (3 + 4 * label[:, None]) * t) + 0.3 * torch.randn(n, length)
    return wave.unsqueeze(1), label


net = SoundNet()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(60):
    wave, label = clips()
    loss = F.cross_entropy(net(wave), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        with torch.no_grad():
            accuracy = (net(wave).argmax(1) == label).float().mean().item()
        print(step, round(loss.item(), 4), round(accuracy, 3))
