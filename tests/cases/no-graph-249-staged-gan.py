import torch
from torch import nn
import torch.nn.functional as F


def freeze(*modules):
    for m in modules:
        for p in m.parameters():
            p.requires_grad_(False)


def mlp(i, o, h=24):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


class Stages:
    def __init__(self, noise=4, dims=2):
        self.noise = noise
        self.g, self.c = mlp(noise, dims), mlp(dims, 1)

    def real(self, n):
        angle = torch.rand(n) * 6.28
        return torch.stack([angle.cos(), angle.sin()], 1) * 2 + 0.1 * torch.randn(n, 2)

    def fake(self, n):
        return self.g(torch.randn(n, self.noise))

    def critic_stage(self, steps):
        opt = torch.optim.Adam(self.c.parameters(), lr=0.01)
        for _ in range(steps):
            real, fake = self.c(self.real(64)), self.c(self.fake(64).detach())
            loss = F.softplus(fake).mean() + F.softplus(-real).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        freeze(self.c)
        return loss.item()

    def generator_stage(self, steps):
        freeze(self.g)
        opt = torch.optim.Adam(self.g.parameters(), lr=0.005)
        for _ in range(steps):
            loss = F.softplus(-self.c(self.fake(64))).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        return loss.item()


def main():
    torch.manual_seed(57)
    stages = Stages()
    print("critic", round(stages.critic_stage(60), 4))
    print("generator", round(stages.generator_stage(60), 4))
    with torch.no_grad():
        radius = stages.fake(500).norm(dim=1)
    print("radius", round(radius.mean().item(), 2), "+-", round(radius.std().item(), 2))


main()
