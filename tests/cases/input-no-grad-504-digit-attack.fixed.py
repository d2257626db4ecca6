import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(11)


class SmallCNN(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))


class ProjectedAttack:
    def __init__(self, model, eps=0.1, alpha=0.03, steps=5):
        self.model, self.eps, self.alpha, self.steps = model, eps, alpha, steps

    def start(self, images):
        noise = torch.empty_like(images).uniform_(-self.eps, self.eps)
        return (images + noise).clamp(0, 1).requires_grad_(True)

    def project(self, candidate, images):
        delta = (candidate - images).clamp(-self.eps, self.eps)
        return (images + delta).clamp(0, 1).detach().requires_grad_(True)

    def __call__(self, images, labels):
        x = self.start(images)
        for _ in range(self.steps):
            loss = F.cross_entropy(self.model(x), labels)
            grad, = torch.autograd.grad(loss, x)
            x = self.project(x + self.alpha * grad.sign(), images)
        return x


def stripes(count, size=12):
    labels = torch.randint(4, (count,))
    base = torch.linspace(0, 6.28, size)
    images = torch.stack([(0.5 + 0.4 * torch.sin((k + 1) * base)).expand(size, size) for k in labels.tolist()])
    return (images.unsqueeze(1) + 0.05 * torch.randn(count, 1, size, size)).clamp(0, 1), labels


def train(model, rounds=25):
    attack = ProjectedAttack(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for i in range(rounds):
        images, labels = stripes(32)
        harder = attack(images, labels)
        loss = F.cross_entropy(model(torch.cat([images, harder])), labels.repeat(2))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 8 == 0:
            print(i, round(loss.item(), 4))


train(SmallCNN())
