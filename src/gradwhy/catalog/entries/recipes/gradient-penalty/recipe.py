"""Train a GAN whose critic has a gradient penalty (WGAN-GP): a loss that is made of a gradient."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=3e-3, betas=(0.5, 0.9))
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=3e-3, betas=(0.5, 0.9))


def gradient_penalty(critic, real, fake):
    """The mean of (slope - 1)², for the critic's slope at one random point between each real and each fake sample."""
    share = torch.rand(len(real), 1)
    between = (share * real + (1 - share) * fake).requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return (slope.norm(2, dim=1) - 1).square().mean()


def samples(count):
    return torch.tensor([3.0, -2.0]) + 0.3 * torch.randn(count, 2)


def critic_step():
    real = samples(64)
    fake = generator(torch.randn(64, 2)).detach()
    loss = critic(fake).mean() - critic(real).mean() + 10 * gradient_penalty(critic, real, fake)
    critic_optimizer.zero_grad()
    loss.backward()
    critic_optimizer.step()


def generator_step():
    loss = -critic(generator(torch.randn(64, 2))).mean()
    generator_optimizer.zero_grad()
    loss.backward()
    generator_optimizer.step()


def distance():
    with torch.no_grad():
        return (generator(torch.randn(512, 2)).mean(0) - torch.tensor([3.0, -2.0])).norm().item()


before = distance()
for _ in range(150):
    for _ in range(3):
        critic_step()
    generator_step()
after = distance()

# The penalty alone reaches the critic's weights. It can't reach the last bias, which moves no slope.
real, fake = samples(64), generator(torch.randn(64, 2)).detach()
weights = [critic[0].weight, critic[0].bias, critic[2].weight]
penalty = gradient_penalty(critic, real, fake)
gradients = torch.autograd.grad(penalty, [*weights, critic[2].bias], allow_unused=True)
assert gradients[0].abs().sum() > 0 and gradients[2].abs().sum() > 0
assert gradients[3] is None or not gradients[3].any()
assert penalty < 0.5, "the slope of the critic is near 1"
assert after < 0.5 * before, "the generator has come nearer to the data"
print(f"distance {before:.2f} -> {after:.2f}, penalty {penalty.item():.3f}")
