import torch
import torch.nn as nn
import torch.nn.functional as F


class RoadModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.speed = nn.Linear(32, 1)
        self.surface = nn.Linear(32, 3)

    def forward(self, x):
        h = self.body(x)
        return self.speed(h).squeeze(-1), self.surface(h)


class UncertaintyTrainer:
    def __init__(self, model, lr=3e-3):
        self.model = model
        self.log_vars = nn.Parameter(torch.zeros(2))
        self.optimizer = torch.optim.Adam(self.trainable(), lr=lr)

    def trainable(self):
        return [p for p in self.model.parameters() if p.requires_grad] + [self.log_vars]

    def loss(self, x, speed, surface):
        guess, logits = self.model(x)
        terms = torch.stack([F.mse_loss(guess, speed), F.cross_entropy(logits, surface)])
        return (torch.exp(-self.log_vars) * terms + self.log_vars).sum()

    def step(self, batch):
        loss = self.loss(*batch)
        self.optimizer.zero_grad()
        self.log_vars.grad = None
        loss.backward()
        self.optimizer.step()
        return loss.item()


def drive(n=48):
    x = torch.randn(n, 8)
    return x, 5 * x[:, 0] + x[:, 1], x[:, 2:5].argmax(dim=1)


torch.manual_seed(13)
trainer = UncertaintyTrainer(RoadModel())
for it in range(80):
    value = trainer.step(drive())
    if it % 20 == 0:
        print(it, round(value, 3), trainer.log_vars.tolist())
