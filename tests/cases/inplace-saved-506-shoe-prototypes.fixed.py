import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(77)


class Prototypes(nn.Module):
    def __init__(self, dim, count):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(count, dim))

    def forward(self, features):
        weight = F.normalize(self.weight, dim=1)
        return F.normalize(features, dim=1) @ weight.t()


class ShoeNet(nn.Module):
    def __init__(self, pixels=64, dim=16, prototypes=12):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, dim))
        self.prototypes = Prototypes(dim, prototypes)

    def forward(self, view):
        return self.prototypes(self.encoder(view))


@torch.no_grad()
def assign(scores, epsilon=0.1, rounds=3):
    q = torch.exp(scores / epsilon)
    for _ in range(rounds):
        q = q / q.sum(dim=0, keepdim=True)
        q = q / q.sum(dim=1, keepdim=True)
    return q


def swap_loss(first, second, temperature=0.2):
    def one(scores, other):
        return -(assign(other) * F.log_softmax(scores / temperature, dim=1)).sum(1).mean()
    return 0.5 * (one(first, second) + one(second, first))


def views(count=48, kinds=6):
    base = torch.linspace(0, 6.28, 64)
    kind = torch.randint(1, kinds + 1, (count, 1))
    clean = torch.sin(kind * base)
    return clean + 0.3 * torch.randn(count, 64), clean.roll(1, dims=1) + 0.3 * torch.randn(count, 64)


def pretrain(steps=30):
    net = ShoeNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        left, right = views()
        loss = swap_loss(net(left), net(right))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, round(loss.item(), 4))


pretrain()
