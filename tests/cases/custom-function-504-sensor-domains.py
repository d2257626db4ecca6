import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function


class Reverse(Function):
    def __init__(self, strength):
        self.strength = strength

    def forward(self, features):
        return features.view_as(features)

    def backward(self, grad_output):
        return -self.strength * grad_output


class ActivityModel(nn.Module):
    def __init__(self, channels=9, width=24, activities=4, devices=2):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(channels, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.activity = nn.Linear(width, activities)
        self.device = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, devices))

    def forward(self, signals, strength):
        features = self.trunk(signals)
        return self.activity(features), self.device(Reverse(strength)(features))


def batches(count, size=48):
    prototypes = torch.randn(4, 9)
    for i in range(count):
        activity = torch.randint(0, 4, (size,))
        device = torch.randint(0, 2, (size,))
        signals = prototypes[activity] + 0.5 * device[:, None] + 0.3 * torch.randn(size, 9)
        yield i / count, signals, activity, device


def train():
    model = ActivityModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for progress, signals, activity, device in batches(25):
        strength = 2 / (1 + 2.718281828 ** (-10 * progress)) - 1 + 0.01
        activity_logits, device_logits = model(signals, strength)
        loss = F.cross_entropy(activity_logits, activity) + 0.3 * F.cross_entropy(device_logits, device)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"final loss {loss.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(17)
    train()
