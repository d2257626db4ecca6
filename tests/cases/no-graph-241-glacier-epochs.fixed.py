import torch
from torch import nn


class MeltNet(nn.Module):
    def __init__(self, features=6):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(features, 20), nn.ReLU(), nn.Dropout(0.2))
        self.melt = nn.Linear(20, 1)

    def forward(self, x):
        return self.melt(self.features(x)).squeeze(-1)


def glacier_years(n):
    x = torch.randn(n, 6)
    return torch.utils.data.TensorDataset(x, x[:, 0] * 1.5 - x[:, 1].clamp(min=0) + 0.1 * torch.randn(n))


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        out = model(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    return total / len(loader.dataset)


def evaluate(model, loader, criterion):
    model.eval()
    torch.set_grad_enabled(False)
    total, rows = 0.0, []
    for x, y in loader:
        out = model(x)
        total += criterion(out, y).item() * len(x)
        rows.extend((out - y).tolist())
    torch.set_grad_enabled(True)
    model.train()
    bias = sum(rows) / len(rows)
    return total / len(loader.dataset), bias


def main():
    torch.manual_seed(47)
    train_loader = torch.utils.data.DataLoader(glacier_years(192), batch_size=24, shuffle=True)
    test_loader = torch.utils.data.DataLoader(glacier_years(48), batch_size=24)
    model = MeltNet()
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(4):
        train_loss = train_epoch(model, train_loader, criterion, optimizer)
        test_loss, bias = evaluate(model, test_loader, criterion)
        print(f"epoch {epoch}: train {train_loss:.4f} test {test_loss:.4f} bias {bias:+.3f}")


main()
