import argparse
import random

import torch
from torch import nn


def parse(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["fit", "predict"], default="fit")
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=0.02)
    return parser.parse_args(argv)


def prepare(options):
    random.seed(options.seed)
    torch.manual_seed(options.seed)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(options.mode == "fit")
    return torch.device("cpu")


class FuelModel(nn.Module):
    def __init__(self, makes=6):
        super().__init__()
        self.make = nn.Embedding(makes, 4)
        self.mix = nn.Bilinear(4, 3, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, make, trip):
        return self.out(torch.relu(self.mix(self.make(make), trip))).squeeze(1)


def trips(n, device):
    make = torch.randint(0, 6, (n,), device=device)
    trip = torch.rand(n, 3, device=device)
    fuel = (1 + 0.2 * make) * trip[:, 0] + 0.5 * trip[:, 1]
    return make, trip, fuel


def fit(options, device):
    model = FuelModel().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)
    make, trip, fuel = trips(240, device)
    for epoch in range(options.epochs):
        for idx in torch.randperm(240).split(48):
            loss = nn.functional.mse_loss(model(make[idx], trip[idx]), fuel[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            worst = (model(make, trip) - fuel).abs().max().item()
        print(f"epoch {epoch}: {loss.item():.4f} worst {worst:.3f}")
    return model


if __name__ == "__main__":
    options = parse([])
    device = prepare(options)
    fit(options, device)
