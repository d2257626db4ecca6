import math

import torch
from torch import nn

torch.manual_seed(14)
CHUNK = 20


def river(length, streams=4):
    t = torch.arange(length, dtype=torch.float32)
    phase = 6.28 * torch.rand(streams, 1)
    level = torch.sin(2 * math.pi * t / 37 + phase) + 0.4 * torch.sin(2 * math.pi * t / 11 + 2 * phase)
    return (level + 0.05 * torch.randn(streams, length)).unsqueeze(-1)


class LevelNet(nn.Module):
    def __init__(self, hidden=20):
        super().__init__()
        self.hidden = hidden
        self.cell = nn.LSTMCell(1, hidden)
        self.read = nn.Linear(hidden, 1)

    def start(self, streams):
        return torch.zeros(streams, self.hidden), torch.zeros(streams, self.hidden)

    def forward(self, levels, state):
        h, c = state
        out = []
        for t in range(levels.size(1)):
            h, c = self.cell(levels[:, t], (h, c))
            out.append(self.read(h))
        return torch.stack(out, dim=1), (h, c)


def chunks(series):
    for start in range(0, series.size(1) - CHUNK, CHUNK):
        yield series[:, start:start + CHUNK], series[:, start + 1:start + CHUNK + 1]


def cut(state):
    h, c = state
    return h.detach(), c


net = LevelNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
series = river(161)
for epoch in range(3):
    state, losses = net.start(series.size(0)), []
    for levels, following in chunks(series):
        predicted, state = net(levels, cut(state))
        loss = (predicted - following).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch}  {sum(losses) / len(losses):.4f}")
