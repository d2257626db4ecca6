import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(12)
LATENT, SIDE = 10, 8

generator = nn.Sequential(
    nn.Linear(LATENT, 32),
    nn.ReLU(),
    nn.Linear(32, SIDE * SIDE),
    nn.Tanh(),
)
discriminator = nn.Sequential(
    nn.Linear(SIDE * SIDE, 32),
    nn.LeakyReLU(0.2),
    nn.Dropout(0.2),
    nn.Linear(32, 1),
)
opt_g = optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()


def real_textures(count):
    phase = torch.rand(count, 1) * 6.28
    return torch.sin(torch.linspace(0, 12, SIDE * SIDE) + phase)


def noise(count):
    return torch.randn(count, LATENT)


def discriminator_turn(real):
    opt_d.zero_grad()
    fake = generator(noise(len(real))).detach()
    real_score, fake_score = discriminator(real), discriminator(fake)
    d_loss = bce(real_score, torch.ones_like(real_score)) + bce(fake_score, torch.zeros_like(fake_score))
    d_loss.backward()
    return d_loss.item()


def generator_turn(count):
    opt_g.zero_grad()
    score = discriminator(generator(noise(count)))
    g_loss = bce(score, torch.ones_like(score))
    g_loss.backward()
    opt_g.step()
    return g_loss.item()


first = discriminator[0].weight.detach().clone()
for epoch in range(3):
    for _ in range(4):
        d_value = discriminator_turn(real_textures(16))
        g_value = generator_turn(16)
    print(f"[{epoch}] D {d_value:.3f} G {g_value:.3f}")

assert torch.equal(first, discriminator[0].weight)
