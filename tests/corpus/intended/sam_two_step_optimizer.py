import torch
import torch.nn as nn
import torch.nn.functional as F


class SAM:
    """Sharpness-aware minimization around a base optimizer."""

    def __init__(self, params, rho=0.05, lr=0.05):
        self.params = list(params)
        self.rho = rho
        self.base = torch.optim.SGD(self.params, lr=lr, momentum=0.9)
        self.moves = []

    @torch.no_grad()
    def ascend(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm() + 1e-12
        self.moves = [self.rho * p.grad / norm for p in self.params]
        for p, move in zip(self.params, self.moves):
            p.add_(move)
        self.base.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p, move in zip(self.params, self.moves):
            p.sub_(move)
        self.base.step()
        self.base.zero_grad()


def train(steps=40):
    net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
    sam = SAM(net.parameters())
    for step in range(steps):
        x = torch.randn(32, 6)
        y = x[:, :3].argmax(dim=1)
        F.cross_entropy(net(x), y).backward()
        sam.ascend()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        sam.descend()
        if step % 10 == 0:
            print(step, loss.item())
    return net


if __name__ == "__main__":
    torch.manual_seed(100)
    train()
