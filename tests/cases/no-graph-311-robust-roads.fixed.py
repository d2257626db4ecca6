from contextlib import contextmanager

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(8)


@contextmanager
def evaluating(*models):
    modes = [m.training for m in models]
    recording = torch.is_grad_enabled()
    for m in models:
        m.eval()
    torch.set_grad_enabled(False)
    try:
        yield
    finally:
        torch.set_grad_enabled(recording)
        for m, mode in zip(models, modes):
            m.train(mode)


class RoadNet(nn.Module):
    def __init__(self, width=12, classes=5):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(width)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(width * 64, classes)

    def forward(self, x):
        return self.out(self.drop(F.relu(self.norm(self.conv(x))).flatten(1)))


class TradesAttack:
    def __init__(self, radius=0.06, step=0.02, iterations=4):
        self.radius, self.step, self.iterations = radius, step, iterations

    def __call__(self, model, images):
        with evaluating(model):
            with torch.no_grad():
                clean = F.softmax(model(images), dim=1)
            moved = images + 0.001 * torch.randn_like(images)
            for _ in range(self.iterations):
                with torch.enable_grad():
                    moved = moved.detach().requires_grad_(True)
                    gap = F.kl_div(F.log_softmax(model(moved), dim=1), clean, reduction="sum")
                slope, = torch.autograd.grad(gap, [moved])
                moved = moved.detach() + self.step * slope.sign()
                moved = torch.min(torch.max(moved, images - self.radius), images + self.radius).clamp(0, 1)
        return moved.detach()


def validate(model, images, labels):
    with evaluating(model):
        return (model(images).argmax(1) == labels).float().mean().item()


def train(model, attack, images, labels, epochs=3, beta=3.0):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(epochs):
        for rows in torch.randperm(len(images)).split(16):
            x, y = images[rows], labels[rows]
            hard = attack(model, x) if epoch > 0 else None
            logits = model(x)
            loss = F.cross_entropy(logits, y)
            if hard is not None:
                loss = loss + beta * F.kl_div(F.log_softmax(model(hard), 1), F.softmax(logits, 1), reduction="batchmean")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f} accuracy {validate(model, images, labels):.3f}")


train(RoadNet(), TradesAttack(), torch.rand(64, 3, 16, 16), torch.randint(0, 5, (64,)))
