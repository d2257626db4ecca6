import torch
from torch import nn


class DemandModel(nn.Module):
    def __init__(self, days=7, products=4):
        super().__init__()
        self.day = nn.Embedding(days, 6)
        self.product = nn.Embedding(products, 6)
        self.out = nn.Sequential(nn.Linear(13, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, rows):
        day, product, weather = rows[:, 0].long(), rows[:, 1].long(), rows[:, 2:]
        h = torch.cat([self.day(day), self.product(product), weather], dim=1)
        return self.out(h).squeeze(1)


class Trainer:
    def __init__(self, model, loader, accumulate=4, lr=0.01):
        self.model, self.loader, self.accumulate = model, loader, accumulate
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def groups(self):
        group = []
        for batch in self.loader:
            group.append(batch)
            if len(group) == self.accumulate:
                yield group
                group = []

    def group_loss(self, group):
        criterion = nn.PoissonNLLLoss()
        total = 0.0
        for x, y in group:
            total += criterion(self.model(x), y).item()
        return torch.tensor(total / len(group))

    def epoch(self):
        seen = []
        for group in self.groups():
            self.optimizer.zero_grad()
            loss = self.group_loss(group)
            loss.backward()
            self.optimizer.step()
            seen.append(loss.item())
        return sum(seen) / len(seen)


def sales(n=320):
    day, product = torch.randint(0, 7, (n, 1)), torch.randint(0, 4, (n, 1))
    weather = torch.randn(n, 1)
    rate = torch.exp(0.2 * day + 0.3 * product - 0.2 * weather).squeeze(1)
    return torch.cat([day, product, weather], dim=1).float(), torch.poisson(rate)


if __name__ == "__main__":
    torch.manual_seed(33)
    x, y = sales()
    data = torch.utils.data.TensorDataset(x, y)
    trainer = Trainer(DemandModel(), torch.utils.data.DataLoader(data, batch_size=16, shuffle=True))
    for epoch in range(5):
        print(f"epoch {epoch}: {trainer.epoch():.4f}")
