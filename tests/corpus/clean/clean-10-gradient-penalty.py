import torch
from torch import nn
import torch.nn.functional as F


def net(i, o, bias=True):
    return nn.Sequential(nn.Linear(i, 24), nn.LeakyReLU(0.2), nn.Linear(24, 24), nn.LeakyReLU(0.2), nn.Linear(24, o, bias=bias))


def penalty(critic, real, fake):
    mix = torch.rand(len(real), 1)
    points = (mix * real + (1 - mix) * fake.detach()).requires_grad_(True)
    slope, = torch.autograd.grad(critic(points).sum(), points, create_graph=True)
    return (slope.norm(dim=1) - 1).pow(2).mean()


class Wasserstein:
    def __init__(self):
        self.g, self.c = net(4, 2), net(2, 1, bias=False)
        self.opt_g = torch.optim.Adam(self.g.parameters(), lr=2e-3, betas=(0.5, 0.9))
        self.opt_c = torch.optim.Adam(self.c.parameters(), lr=2e-3, betas=(0.5, 0.9))

    def critic_step(self, real):
        with torch.no_grad():
            fake = self.g(torch.randn(len(real), 4))
        gap = self.c(real).mean() - self.c(fake).mean()
        loss = 10 * penalty(self.c, real, fake) - gap
        self.opt_c.zero_grad()
        loss.backward()
        self.opt_c.step()
        return gap.item()

    def generator_step(self, n):
        self.c.requires_grad_(False)
        loss = -self.c(self.g(torch.randn(n, 4))).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        self.c.requires_grad_(True)
        return loss.item()

    @torch.no_grad()
    def samples(self, n):
        return self.g(torch.randn(n, 4)).numpy()


def main():
    torch.manual_seed(18)
    game = Wasserstein()
    for n in range(30):
        gaps = [game.critic_step(torch.randn(64, 2) * 0.3 + 2) for _ in range(3)]
        lost = game.generator_step(64)
        if n % 10 == 9:
            print(n, round(sum(gaps) / 3, 4), round(lost, 4), game.samples(200).mean(axis=0).round(2).tolist())


main()
