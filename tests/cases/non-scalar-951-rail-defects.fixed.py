from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn, optim


class Focal(nn.Module):
    def __init__(self, gamma=2.0, alpha=None):
        super().__init__()
        self.gamma = gamma
        self.register_buffer("alpha", None if alpha is None else torch.tensor(alpha))

    def forward(self, logits, target):
        entropy = F.cross_entropy(logits, target, weight=self.alpha, reduction="none")
        sure = torch.exp(-entropy)
        focal = (1 - sure) ** self.gamma * entropy
        return focal.mean()


class Scan(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 8, 5, padding=2)
        self.conv2 = nn.Conv1d(8, 16, 5, stride=2)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        x = F.leaky_relu(self.conv1(x), 0.1)
        x = F.leaky_relu(self.conv2(x), 0.1)
        return self.fc(x.amax(dim=-1))


class Run:
    def __init__(self, folder, classes=3):
        self.log = Path(folder) / "loss.csv"
        self.model = Scan(classes)
        self.criterion = Focal(alpha=[0.2, 1.0, 1.0])
        self.optimizer = optim.Adam(self.model.parameters(), lr=1e-3)
        self.scheduler = optim.lr_scheduler.StepLR(self.optimizer, 2, 0.5)
        self.rows = []

    def step(self, signal, target):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.criterion(self.model(signal), target)
        loss.backward()
        self.optimizer.step()
        return float(loss)

    def __call__(self, epochs):
        for epoch in range(epochs):
            values = [self.step(torch.randn(8, 1, 64), torch.randint(3, (8,))) for _ in range(4)]
            self.scheduler.step()
            self.rows.append((epoch, sum(values) / len(values)))
        return self.rows


if __name__ == "__main__":
    torch.manual_seed(9)
    print(Run("runs")(3))
