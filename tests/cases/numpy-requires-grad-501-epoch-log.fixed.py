import numpy as np
import torch
from torch import nn

torch.manual_seed(19)


class Meter:
    """Keeps the values of one quantity and gives their mean per epoch."""

    def __init__(self, name):
        self.name, self.values, self.history = name, [], []

    def update(self, value):
        self.values.append(value)

    def close(self):
        self.history.append(float(np.mean(np.asarray(self.values))))
        self.values = []
        return f"{self.name} {self.history[-1]:.4f}"


class RentModel(nn.Module):
    def __init__(self, districts=5):
        super().__init__()
        self.district = nn.Embedding(districts, 3)
        self.mlp = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, district, facts):
        return self.mlp(torch.cat([self.district(district), facts], dim=1)).squeeze(1)


def flats(n):
    district = torch.randint(0, 5, (n,))
    facts = torch.rand(n, 2)
    rent = 0.3 * district + 2 * facts[:, 0] - facts[:, 1] + 0.1 * torch.randn(n)
    return district, facts, rent


def train(model, epochs=3, batches=8):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loss_meter, error_meter = Meter("loss"), Meter("median error")
    for epoch in range(epochs):
        for _ in range(batches):
            district, facts, rent = flats(32)
            prediction = model(district, facts)
            loss = nn.functional.huber_loss(prediction, rent)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            error_meter.update((prediction.detach() - rent).abs().median())
            loss_meter.update(loss.item())
        print(f"epoch {epoch}", error_meter.close(), loss_meter.close())


train(RentModel())
