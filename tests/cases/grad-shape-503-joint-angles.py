import math
import torch
from torch import nn

torch.manual_seed(80)


def arm_reader(joints=("shoulder", "elbow", "wrist"), width=24):
    trunk = nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
    heads = nn.ModuleDict({name: nn.Linear(width, 9) for name in joints})
    return nn.ModuleDict({"trunk": trunk, "heads": heads})


def predict(model, markers):
    h = model["trunk"](markers)
    return {name: head(h) for name, head in model["heads"].items()}


def joint_loss(logits, angle, bins, alpha):
    label = torch.bucketize(angle, bins)
    centres = torch.linspace(-math.pi, math.pi, 9)
    expected = (logits.softmax(dim=1) * centres).sum(dim=1)
    return nn.functional.cross_entropy(logits, label) + alpha * (expected - angle).pow(2).mean()


def recordings(n):
    angle = (torch.rand(n, 3) * 2 - 1) * 3.0
    total = angle.cumsum(dim=1)
    markers = torch.cat([total.cos().cumsum(dim=1), total.sin().cumsum(dim=1)], dim=1)
    return markers, dict(zip(("shoulder", "elbow", "wrist"), angle.unbind(dim=1)))


def train(steps=40, alpha=0.05):
    model = arm_reader()
    optimizer = torch.optim.Adam([
        {"params": model["trunk"].parameters(), "lr": 2e-3},
        {"params": model["heads"].parameters(), "lr": 1e-2},
    ])
    bins = torch.linspace(-math.pi, math.pi, 10)[1:-1]
    seeds = [torch.ones(1)] * 3
    for step in range(steps):
        markers, angles = recordings(64)
        losses = [joint_loss(logits, angles[name], bins, alpha)
                  for name, logits in predict(model, markers).items()]
        optimizer.zero_grad()
        torch.autograd.backward(losses, seeds)
        optimizer.step()
        if step % 10 == 0:
            print(step, " ".join(f"{loss.item():.3f}" for loss in losses))
    return model


train()
