"""Train a new head on a frozen backbone, then thaw the backbone's last block: what is frozen stays as it is, bit for bit."""

import copy

import torch
from torch import nn
from torch.nn.functional import cross_entropy

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.early = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.late = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.head = nn.Linear(16, classes)

    def forward(self, images):
        return self.head(self.late(self.early(images)).mean(dim=(2, 3)))


def batch(count=32):
    labels = torch.randint(3, (count,))
    return torch.randn(count, 3, 8, 8) + 0.5 * nn.functional.one_hot(labels, 3).view(count, 3, 1, 1), labels


def state(module):
    return copy.deepcopy(module.state_dict())


def same(module, saved):
    return all(torch.equal(value, saved[name]) for name, value in module.state_dict().items())


def train(model, frozen, optimizer, steps):
    model.train()
    for part in frozen:
        part.eval()
    losses = []
    for _ in range(steps):
        images, labels = batch()
        loss = cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# Stands for a network that was trained on much data, with ten classes.
pretrained = Classifier(classes=10)
train(pretrained, [], torch.optim.Adam(pretrained.parameters(), lr=1e-2), steps=10)

model = Classifier(classes=10)
model.load_state_dict(pretrained.state_dict())

# 1. Freeze all, then replace the head: a new layer requires grad by itself. Then make the optimizer, of what trains.
model.requires_grad_(False)
model.head = nn.Linear(16, 3)
optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)
early, late, head = state(model.early), state(model.late), state(model.head)
losses = train(model, [model.early, model.late], optimizer, steps=40)

assert losses[-1] < 0.7 * losses[0]
assert same(model.early, early) and same(model.late, late), "weights and BatchNorm's statistics are bit-identical"
assert not same(model.head, head)

# 2. Thaw the last block, more slowly: the optimizer is told of it.
model.late.requires_grad_(True)
optimizer.add_param_group({"params": model.late.parameters(), "lr": 1e-3})
more = train(model, [model.early], optimizer, steps=20)

assert same(model.early, early) and not same(model.late, late)
assert all(parameter.grad is None for parameter in model.early.parameters())
print(f"loss {losses[0]:.2f} -> {losses[-1]:.2f} with the head, -> {more[-1]:.2f} with the last block")
