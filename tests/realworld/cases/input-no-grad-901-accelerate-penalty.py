import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def critic():
    return nn.Sequential(nn.Linear(6, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))


def generator(noise=4):
    return nn.Sequential(nn.Linear(noise, 32), nn.ReLU(), nn.Linear(32, 6))


@torch.no_grad()
def mix(real, fake):
    alpha = torch.rand(len(real), 1, device=real.device)
    return torch.lerp(real, fake, alpha)


class GradientPenalty:
    def __init__(self, weight=10.0):
        self.weight = weight

    def __call__(self, net, real, fake):
        points = mix(real, fake)
        scores = net(points)
        (slope,) = torch.autograd.grad(scores.sum(), points, create_graph=True)
        return self.weight * ((slope.norm(2, dim=1) - 1) ** 2).mean()


class WGAN:
    def __init__(self, accelerator, loader, n_critic=2):
        self.accelerator, self.n_critic = accelerator, n_critic
        g, d = generator(), critic()
        opt_g = torch.optim.Adam(g.parameters(), lr=1e-3, betas=(0.0, 0.9))
        opt_d = torch.optim.Adam(d.parameters(), lr=1e-3, betas=(0.0, 0.9))
        self.g, self.d, self.opt_g, self.opt_d, self.loader = accelerator.prepare(g, d, opt_g, opt_d, loader)
        self.penalty = GradientPenalty()

    def sample(self, count):
        return self.g(torch.randn(count, 4, device=self.accelerator.device))

    def critic_step(self, real):
        fake = self.sample(len(real)).detach()
        loss = self.d(fake).mean() - self.d(real).mean() + self.penalty(self.d, real, fake)
        self.opt_d.zero_grad()
        self.accelerator.backward(loss)
        self.opt_d.step()
        return loss.detach()

    def generator_step(self, count):
        loss = -self.d(self.sample(count)).mean()
        self.opt_g.zero_grad()
        self.accelerator.backward(loss)
        self.opt_g.step()
        return loss.detach()

    def fit(self, epochs):
        for epoch in range(epochs):
            for i, (real,) in enumerate(self.loader):
                d_loss = self.critic_step(real)
                if i % self.n_critic == 0:
                    g_loss = self.generator_step(len(real))
            self.accelerator.print(f"epoch {epoch} critic {d_loss:.3f} generator {g_loss:.3f}")


def main():
    set_seed(3)
    accelerator = Accelerator(cpu=True)
    rows = torch.randn(128, 6) @ torch.randn(6, 6)
    WGAN(accelerator, DataLoader(TensorDataset(rows), batch_size=32, shuffle=True)).fit(2)


if __name__ == "__main__":
    main()
