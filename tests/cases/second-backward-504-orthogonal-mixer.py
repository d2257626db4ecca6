import torch
from torch import nn
from torch.nn.utils import parametrize

torch.manual_seed(26)


class Reflections(nn.Module):
    def forward(self, raw):
        eye = torch.eye(raw.size(0))
        skew = raw.triu(1) - raw.triu(1).t()
        return torch.linalg.solve(eye + skew, eye - skew)


class Mixer(nn.Module):
    def __init__(self, channels=8, depth=3):
        super().__init__()
        layers = [nn.Linear(channels, channels, bias=False) for _ in range(depth)]
        for layer in layers:
            parametrize.register_parametrization(layer, "weight", Reflections())
        self.layers = nn.ModuleList(layers)
        self.gain = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        for layer in self.layers:
            x = torch.sin(layer(x)) + 0.1 * x
        return x * self.gain.exp()


ROOM = torch.linalg.qr(torch.randn(8, 8))[0]


def recordings(batches, size=32):
    for _ in range(batches):
        sources = torch.rand(size, 8) * 2 - 1
        yield sources @ ROOM.t(), sources


def train_epoch(model, optimizer, loader):
    total, count = 0.0, 0
    model.train()
    with parametrize.cached():
        for mixed, sources in loader:
            loss = (model(mixed) - sources).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, count = total + loss.item(), count + 1
    return total / count


def evaluate(model, loader):
    model.eval()
    with torch.no_grad(), parametrize.cached():
        return sum((model(mixed) - sources).pow(2).mean().item() for mixed, sources in loader)


model = Mixer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    print(f"epoch {epoch}: train {train_epoch(model, optimizer, recordings(12)):.4f}")
print("valid", round(evaluate(model, recordings(3)), 4))
