import torch
from torch import nn

torch.manual_seed(3)


class Encoder(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.inner = nn.Linear(6, width)
        self.outer = nn.Linear(width, 2)

    def forward(self, x):
        return self.outer(torch.relu(self.inner(x)))


def widen(net, width):
    old = net.inner
    net.inner = nn.Linear(old.in_features, width)
    net.outer = nn.Linear(width, net.outer.out_features)
    with torch.no_grad():
        net.inner.weight[: old.out_features] = old.weight


def run_epoch(net, optimizer, batches):
    total = 0.0
    for x, y in batches:
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(batches)


batches = [(torch.randn(16, 6), torch.randint(0, 2, (16,))) for _ in range(6)]
encoder = Encoder()
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)
print("narrow", round(run_epoch(encoder, optimizer, batches), 3))
widen(encoder, 16)
start = [p.detach().clone() for p in encoder.parameters()]
print("wide", round(run_epoch(encoder, optimizer, batches), 3))
assert all(torch.equal(p, s) for p, s in zip(encoder.parameters(), start))
