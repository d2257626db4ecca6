import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class DelayModel(nn.Module):
    def __init__(self, ports=6):
        super().__init__()
        self.port = nn.Embedding(ports, 4)
        self.regress = nn.Sequential(nn.Linear(4 * 2 + 3, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, route, weather):
        return self.regress(torch.cat([self.port(route).flatten(1), weather], dim=1)).squeeze(1)


class Trainer:
    def __init__(self, model, data, batch_size=32):
        train, test = random_split(data, [0.8, 0.2])
        self.model = model
        self.train_loader = DataLoader(train, batch_size, shuffle=True)
        self.test_loader = DataLoader(test, batch_size)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        self.criterion = nn.HuberLoss()

    @torch.no_grad()
    def predict(self, route, weather):
        return self.model(route, weather).clamp(-1, 5)

    def train_epoch(self):
        self.model.train()
        for route, weather, delay in self.train_loader:
            predicted = self.predict(route, weather)
            loss = self.criterion(predicted, delay)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def evaluate(self):
        self.model.eval()
        errors = [(self.predict(r, w) - d).abs() for r, w, d in self.test_loader]
        return torch.cat(errors).mean().item()

    def run(self, epochs):
        print(f"before: {self.evaluate():.3f}")
        for epoch in range(epochs):
            self.train_epoch()
            print(f"epoch {epoch}: {self.evaluate():.3f}")


torch.manual_seed(410)
route, weather = torch.randint(0, 6, (300, 2)), torch.randn(300, 3)
delay = 0.3 * (route[:, 0] - route[:, 1]).abs() + weather[:, 0].relu() + 0.1 * torch.randn(300)
Trainer(DelayModel(), TensorDataset(route, weather, delay)).run(epochs=3)
