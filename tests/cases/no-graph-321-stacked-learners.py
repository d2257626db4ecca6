import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(13)


class WeakLearner(nn.Module):
    def __init__(self, inputs, hidden=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


class Ensemble:
    def __init__(self, shrinkage=0.5):
        self.members, self.shrinkage = [], shrinkage

    def add(self, learner):
        for p in learner.parameters():
            p.requires_grad_(False)
        self.members.append(learner.eval())

    def __call__(self, x):
        total = torch.zeros(len(x))
        for member in self.members:
            total = total + self.shrinkage * member(x)
        return total


class Booster:
    def __init__(self, inputs, rounds=3, epochs=3):
        self.inputs, self.rounds, self.epochs = inputs, rounds, epochs
        self.ensemble = Ensemble()

    def newton_targets(self, x, y):
        with torch.no_grad():
            p = torch.sigmoid(self.ensemble(x))
        gradient, hessian = y - p, (p * (1 - p)).clamp(min=1e-3)
        return gradient / hessian, hessian

    def fit_one(self, learner, x, y):
        optimizer = torch.optim.Adam(learner.parameters(), lr=1e-2)
        targets, weights = self.newton_targets(x, y)
        for _ in range(self.epochs):
            for rows in torch.randperm(len(x)).split(32):
                output = self.ensemble(x[rows])
                loss = (weights[rows] * (output - targets[rows]).square()).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return loss.item()

    def fit(self, x, y):
        for number in range(self.rounds):
            learner = WeakLearner(self.inputs)
            last = self.fit_one(learner, x, y)
            self.ensemble.add(learner)
            with torch.no_grad():
                score = self.ensemble(x)
            error = F.binary_cross_entropy_with_logits(score, y).item()
            print(f"round {number} fit {last:.4f} log-loss {error:.4f} accuracy {((score > 0) == (y > 0)).float().mean():.3f}")


def main():
    x = torch.randn(256, 8)
    y = ((x[:, 0] * x[:, 1] + x[:, 2]) > 0).float()
    Booster(8).fit(x, y)


if __name__ == "__main__":
    main()
