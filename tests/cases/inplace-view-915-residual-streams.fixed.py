import torch
from torch import nn


class Mixer(nn.Module):
    """Several residual streams that read from each other in order."""

    def __init__(self, width, streams):
        super().__init__()
        self.streams = streams
        self.expand = nn.Linear(width, width * streams)
        self.layers = nn.ModuleList(
            [nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU()) for _ in range(streams)]
        )
        self.merge = nn.Linear(width * streams, width)

    def forward(self, x):
        previous = x
        done = []
        for stream, layer in zip(self.expand(x).chunk(self.streams, dim=-1), self.layers):
            stream = stream + layer(previous)
            previous = stream
            done.append(stream)
        return self.merge(torch.cat(done, dim=-1))


class Regressor(nn.Module):
    def __init__(self, features, width=8, depth=2):
        super().__init__()
        self.inp = nn.Linear(features, width)
        self.body = nn.Sequential(*[Mixer(width, 3) for _ in range(depth)])
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.body(self.inp(x))).squeeze(-1)


def split(x, y, fraction=0.75):
    n = int(len(x) * fraction)
    order = torch.randperm(len(x))
    return (x[order[:n]], y[order[:n]]), (x[order[n:]], y[order[n:]])


def r2(model, x, y):
    model.eval()
    with torch.inference_mode():
        residual = (model(x) - y).square().sum()
    return 1 - (residual / (y - y.mean()).square().sum()).item()


def main(seed=0, epochs=3):
    torch.manual_seed(seed)
    x = torch.rand(40, 5)
    y = 10 * torch.sin(x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3]
    train, test = split(x, (y - y.mean()) / y.std())
    model = Regressor(features=5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, nesterov=True, momentum=0.9)
    for _ in range(epochs):
        model.train()
        loss = nn.functional.mse_loss(model(train[0]), train[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return r2(model, *test)


if __name__ == "__main__":
    print(f"R2 {main():.3f}")
