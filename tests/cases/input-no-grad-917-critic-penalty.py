import torch
import torch.nn as nn


class Generator(nn.Module):
    def __init__(self, noise=6, features=2):
        super().__init__()
        self.noise = noise
        self.net = nn.Sequential(nn.Linear(noise, 24), nn.ReLU(), nn.Linear(24, features))

    def forward(self, n):
        return self.net(torch.randn(n, self.noise))


def critic_net(features=2):
    return nn.Sequential(nn.Linear(features, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))


def interpolate(real, fake):
    weight = torch.rand(real.size(0), 1)
    return torch.lerp(real, fake, weight)


def slope_penalty(critic, real, fake):
    between = interpolate(real, fake)
    scores = critic(between)
    (slope,) = torch.autograd.grad(
        outputs=scores,
        inputs=between,
        grad_outputs=torch.ones_like(scores),
        create_graph=True,
        retain_graph=True,
    )
    return (slope.flatten(1).norm(2, dim=1) - 1).square().mean()


def ring(n):
    angle = torch.rand(n) * 6.2832
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.02 * torch.randn(n, 2)


class WGAN:
    def __init__(self, n_critic=3, weight=10.0):
        self.generator, self.critic = Generator(), critic_net()
        self.n_critic, self.weight = n_critic, weight
        adam = dict(lr=1e-4, betas=(0.0, 0.9))
        self.opt_g = torch.optim.Adam(self.generator.parameters(), **adam)
        self.opt_c = torch.optim.Adam(self.critic.parameters(), **adam)

    def train_critic(self, real):
        with torch.no_grad():
            fake = self.generator(len(real))
        gap = self.critic(fake).mean() - self.critic(real).mean()
        loss = gap + self.weight * slope_penalty(self.critic, real, fake)
        self.opt_c.zero_grad()
        loss.backward()
        self.opt_c.step()
        return -gap.item()

    def train_generator(self, n):
        loss = -self.critic(self.generator(n)).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()

    def fit(self, rounds, n=16):
        for i in range(rounds):
            distance = sum(self.train_critic(ring(n)) for _ in range(self.n_critic)) / self.n_critic
            self.train_generator(n)
            print(f"round {i}: {distance:.4f}")


torch.manual_seed(10)
WGAN().fit(rounds=3)
