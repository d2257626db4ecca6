import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class AngularMargin(nn.Module):
    def __init__(self, dim, identities, scale=16.0, margin=0.2):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(identities, dim))
        nn.init.xavier_uniform_(self.weight)
        self.scale, self.margin = scale, margin

    def forward(self, embedding, label):
        cosine = F.linear(F.normalize(embedding), F.normalize(self.weight)).clamp(-1 + 1e-6, 1 - 1e-6)
        shifted = torch.cos(cosine.acos() + self.margin)
        hot = F.one_hot(label, cosine.shape[1]).bool()
        return F.cross_entropy(self.scale * torch.where(hot, shifted, cosine), label)


class VoiceNet(nn.Module):
    def __init__(self, bands=12, dim=16):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(bands, 48), nn.PReLU(), nn.Linear(48, dim))

    def forward(self, x):
        return self.layers(x)


def speakers(prints, n=48):
    who = torch.randint(0, len(prints), (n,))
    return prints[who] + 0.5 * torch.randn(n, prints.shape[1]), who


torch.manual_seed(10)
prints = torch.randn(15, 12)
net = VoiceNet()
criterion = AngularMargin(16, len(prints))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
for step in range(60):
    x, who = speakers(prints)
    loss = criterion(net(x), who)
    optimizer.zero_grad()
    criterion.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        print(f"{step:3d} {loss.item():.4f} angle {math.degrees(criterion.margin):.1f}")
