import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(37)

NOISE, SIZE = 8, 12
CRITIC_STEPS = 3


def mlp(n_in, n_out, width=48):
    return nn.Sequential(nn.Linear(n_in, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2), nn.Linear(width, n_out))


def textures(count):
    phase = 6.28 * torch.rand(count, 1, 1)
    ramp = torch.arange(SIZE)
    return torch.sin(0.8 * ramp[:, None] + phase).add(0.3 * torch.cos(ramp)).flatten(1)


generator, critic = mlp(NOISE, SIZE * SIZE), mlp(SIZE * SIZE, 1)
g_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
c_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)


def critic_step(real):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        fake = generator(torch.randn(len(real), NOISE)).detach()
        loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake)).mean()
    c_optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(c_optimizer)
    return loss.item()


def generator_step(count):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.softplus(-critic(generator(torch.randn(count, NOISE)))).mean()
    g_optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(g_optimizer)
    return loss.item()


for round_index in range(6):
    for _ in range(CRITIC_STEPS):
        c_loss = critic_step(textures(24))
    g_loss = generator_step(24)
    scaler.update()
    print(f"round {round_index}  critic {c_loss:.3f}  generator {g_loss:.3f}  scale {scaler.get_scale():.0f}")
