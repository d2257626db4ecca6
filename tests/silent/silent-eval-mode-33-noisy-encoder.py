import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(156)


class TextEncoder(nn.Module):
    def __init__(self, vocab=40, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.drop = nn.Dropout(0.4)
        self.mix = nn.Linear(dim, dim)

    def forward(self, ids):
        return torch.tanh(self.mix(self.drop(self.embed(ids)))).mean(dim=1)


class Probe(nn.Module):
    """Linear probe on a fixed encoder."""

    def __init__(self, encoder, classes=2):
        super().__init__()
        self.encoder = encoder
        self.linear = nn.Linear(16, classes)

    def forward(self, ids):
        with torch.no_grad():
            h = self.encoder(ids)
        return self.linear(h)


def build():
    encoder = TextEncoder()
    for p in encoder.parameters():
        p.requires_grad_(False)
    return Probe(encoder)


def lines(n=32):
    ids = torch.randint(0, 40, (n, 6))
    return ids, (ids < 20).float().mean(dim=1).round().long()


probe = build()
optimizer = torch.optim.SGD(probe.linear.parameters(), lr=0.5)
probe.train()
for step in range(60):
    ids, y = lines()
    loss = F.cross_entropy(probe(ids), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
