import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ParcelNet(nn.Module):
    def __init__(self, n_features, n_routes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_features, 32), nn.ReLU(), nn.Dropout(0.1))
        self.route = nn.Linear(32, n_routes)

    def forward(self, x):
        return self.route(self.body(x))


class Trainer:
    def __init__(self, net, counts, lr=1e-2):
        self.net = net
        weights = counts.sum() / (len(counts) * counts)
        self.criterion = nn.CrossEntropyLoss(weight=weights, reduction="none")
        self.optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=2, gamma=0.5)

    def train_one_epoch(self, loader):
        self.net.train()
        total = 0.0
        for x, y in loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.net(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(y)
        self.scheduler.step()
        return total / len(loader.dataset)

    @torch.no_grad()
    def accuracy(self, loader):
        self.net.eval()
        right = sum((self.net(x).argmax(dim=1) == y).sum().item() for x, y in loader)
        return right / len(loader.dataset)


def parcels(n=240, n_features=6, n_routes=3):
    x = torch.randn(n, n_features)
    y = torch.bucketize(x[:, 0] + 0.5 * x[:, 1], torch.tensor([0.0, 1.0]))
    return TensorDataset(x, y), torch.bincount(y, minlength=n_routes).float()


if __name__ == "__main__":
    torch.manual_seed(17)
    data, counts = parcels()
    loader = DataLoader(data, batch_size=24, shuffle=True)
    trainer = Trainer(ParcelNet(6, 3), counts)
    for epoch in range(4):
        mean = trainer.train_one_epoch(loader)
        print(f"epoch {epoch}: loss {mean:.3f}, accuracy {trainer.accuracy(loader):.3f}")
