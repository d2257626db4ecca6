import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(403)


def members(count=192, features=6):
    x = torch.randn(count, features)
    hazard = x @ torch.tensor([0.8, -0.5, 0.3, 0.0, 0.6, -0.2])
    months = torch.exp(-hazard) * torch.empty(count).exponential_()
    left = torch.rand(count) < 0.7
    return TensorDataset(x, months, left)


class Concordance(nn.Module):
    """Share of comparable pairs that the scores put in the wrong order."""

    def forward(self, risk, months, left):
        comparable = (months[:, None] < months[None, :]) & left[:, None]
        wrong = risk[:, None] <= risk[None, :]
        pairs = comparable.float()
        return (wrong.float() * pairs).sum() / pairs.sum().clamp(min=1)


class RiskNet(nn.Sequential):
    def __init__(self, features=6):
        super().__init__(nn.Linear(features, 16), nn.Tanh(), nn.Linear(16, 1, bias=False), nn.Flatten(0))


def fit(net, loader, criterion, epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    history = []
    for _ in range(epochs):
        total = 0.0
        for x, months, left in loader:
            optimizer.zero_grad()
            loss = criterion(net(x), months, left)
            loss.backward()
            optimizer.step()
            total += loss.item()
        history.append(total / len(loader))
    return history


if __name__ == "__main__":
    loader = DataLoader(members(), batch_size=48, shuffle=True)
    for n, value in enumerate(fit(RiskNet(), loader, Concordance(), epochs=5)):
        print(f"{n}: {value:.4f}")
