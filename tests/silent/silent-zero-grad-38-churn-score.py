import torch
import torch.nn as nn

torch.manual_seed(77)


class ChurnModel(nn.Module):
    def __init__(self, columns=8, hidden=16):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(columns, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 1))

    def forward(self, x):
        return self.layers(x)


class FloatTargets(nn.Module):
    def __init__(self, criterion):
        super().__init__()
        self.criterion = criterion

    def forward(self, output, label):
        return self.criterion(output, label.float().unsqueeze(1))


def customers(n=64):
    x = torch.randn(n, 8)
    return x, (x[:, 0] + x[:, 1] * x[:, 2] > 0).long()


def train(model, criterion, steps=50, lr=1e-2):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for step in range(steps):
        x, y = customers()
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, round(loss.item(), 4))


model = ChurnModel()
train(model, FloatTargets(nn.CrossEntropyLoss()))
