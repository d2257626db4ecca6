from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Stage:
    name: str
    reconstruct: float
    sparse: float
    steps: int


class Codec(nn.Module):
    def __init__(self, inputs=12, codes=20):
        super().__init__()
        self.enc = nn.Linear(inputs, codes)
        self.dec = nn.Linear(codes, inputs, bias=False)

    def forward(self, x):
        codes = torch.relu(self.enc(x))
        return codes, self.dec(codes)


def active_share(codes):
    rows = codes.nonzero()[:, 0]
    per_row = torch.bincount(rows, minlength=len(codes))
    return per_row.float().mean() / codes.shape[1]


def objective(stage, x, codes, rebuilt):
    terms = []
    if stage.reconstruct:
        terms.append(stage.reconstruct * (rebuilt - x).pow(2).mean())
    if stage.sparse:
        terms.append(stage.sparse * active_share(codes))
    return sum(terms)


def run(stage, model, data):
    trainable = model.parameters() if stage.reconstruct else model.enc.parameters()
    optimizer = torch.optim.Adam(trainable, lr=5e-3)
    for step in range(stage.steps):
        x = data[torch.randint(0, len(data), (32,))]
        codes, rebuilt = model(x)
        loss = objective(stage, x, codes, rebuilt)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    active = (codes > 0).float().mean().item()
    print(f"{stage.name}: loss {loss.item():.4f}, active {active:.2%}")


def main():
    torch.manual_seed(64)
    data = torch.randn(200, 4) @ torch.randn(4, 12)
    model = Codec()
    plan = [Stage("fit", 1.0, 0.0, 40), Stage("both", 1.0, 0.1, 40), Stage("prune", 0.0, 1.0, 10)]
    for stage in plan:
        run(stage, model, data)


main()
