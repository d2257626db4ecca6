import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, out=16):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, 8, 5, 2), nn.BatchNorm1d(8), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten())
        self.proj = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, out))

    def forward(self, x):
        return F.normalize(self.proj(self.net(x)), dim=1)


class MoCo(nn.Module):
    def __init__(self, size=64, dims=16, momentum=0.99, heat=0.2):
        super().__init__()
        self.momentum, self.heat = momentum, heat
        self.query, self.key = Encoder(dims), Encoder(dims)
        for q, k in zip(self.query.parameters(), self.key.parameters()):
            k.data.copy_(q.data)
            k.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dims, size), dim=0))
        self.register_buffer("head", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def follow(self):
        for q, k in zip(self.query.parameters(), self.key.parameters()):
            k.data = k.data * self.momentum + q.data * (1.0 - self.momentum)

    @torch.no_grad()
    def push(self, keys):
        at, count = int(self.head), len(keys)
        self.queue[:, at : at + count] = keys.T
        self.head[0] = (at + count) % self.queue.shape[1]

    def forward(self, first, second):
        q = self.query(first)
        with torch.no_grad():
            self.follow()
            order = torch.randperm(len(second))
            k = self.key(second[order])[order.argsort()]
        positive = (q * k).sum(dim=1, keepdim=True)
        negative = q @ self.queue.clone().detach()
        logits = torch.cat([positive, negative], dim=1) / self.heat
        labels = torch.zeros(len(logits), dtype=torch.long)
        self.push(k)
        return logits, labels


class TwoViews:
    def __init__(self, jitter=0.1):
        self.jitter = jitter

    def __call__(self, x):
        return self.one(x), self.one(x)

    def one(self, x):
        return x.roll(torch.randint(0, 8, (1,)).item(), dims=-1) + self.jitter * torch.randn_like(x)


class Probe:
    """A linear classifier on frozen features."""

    def __init__(self, encoder, classes):
        self.encoder = encoder
        self.linear = nn.Linear(32, classes)
        self.optimizer = torch.optim.SGD(self.linear.parameters(), lr=0.1)

    def fit(self, x, y, steps=3):
        self.encoder.eval()
        with torch.no_grad():
            features = self.encoder.net(x)
        for _ in range(steps):
            loss = F.cross_entropy(self.linear(features), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.encoder.train()
        return (self.linear(features).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(7)
    signals, labels = torch.randn(48, 1, 40), torch.randint(0, 3, (48,))
    model, views = MoCo(), TwoViews()
    optimizer = torch.optim.SGD(model.query.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(2):
        running = 0.0
        for batch in signals[torch.randperm(48)].split(16):
            output, target = model(*views(batch))
            loss = criterion(output, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(epoch, running / 3, Probe(model.query, 3).fit(signals, labels))


if __name__ == "__main__":
    main()
