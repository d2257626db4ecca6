import torch
from torch import autograd, nn


class Critic(nn.Module):
    def __init__(self, size=12, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(size, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.net(x)).squeeze(-1)


class WGAN:
    def __init__(self, latent=6, size=12, weight=10.0, critic_turns=2):
        self.latent, self.weight, self.critic_turns = latent, weight, critic_turns
        self.maker = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, size))
        self.critic = Critic(size)
        self.maker_opt = torch.optim.Adam(self.maker.parameters(), 1e-4, betas=(0.0, 0.9))
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), 1e-4, betas=(0.0, 0.9))

    def make(self, count):
        return self.maker(torch.randn(count, self.latent))

    def penalty(self, real, fake):
        mix = torch.rand(len(real), 1)
        between = (mix * real + (1 - mix) * fake).requires_grad_(True)
        score = self.critic(between)
        slope = autograd.grad(
            outputs=score,
            inputs=between,
            grad_outputs=torch.ones_like(score),
            create_graph=True,
        )[0]
        return self.weight * (slope.norm(2, dim=1) - 1).pow(2).mean()

    def critic_step(self, real):
        fake = self.make(len(real)).detach()
        self.gp = self.penalty(real, fake)
        loss = self.critic(fake).mean() - self.critic(real).mean() + self.gp
        self.critic_opt.zero_grad()
        loss.backward()
        self.critic_opt.step()
        return loss.item()

    def maker_step(self, count):
        self.maker_opt.zero_grad()
        loss = -self.critic(self.make(count)).mean()
        loss.backward()
        self.maker_opt.step()
        return loss.item()

    def fit(self, pots, epochs=2, batch=16):
        for epoch in range(epochs):
            for real in pots[torch.randperm(len(pots))].split(batch):
                values = [self.critic_step(real) for _ in range(self.critic_turns)]
                values.append(self.maker_step(len(real)))
            print(epoch, values)


if __name__ == "__main__":
    torch.manual_seed(25)
    gan = WGAN()
    gan.fit(torch.randn(48, 12).cumsum(1))
    assert gan.gp.grad_fn is not None
