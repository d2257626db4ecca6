import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(64)
DAYS, NOISE, BATCH = 14, 6, 48


def rainfall(count):
    wet = (torch.rand(count, DAYS) < 0.4).float()
    return torch.log1p(wet * torch.empty(count, DAYS).exponential_(0.5))


def block(n_in, n_out):
    return [nn.Linear(n_in, n_out), nn.LeakyReLU(0.2)]


generator = nn.Sequential(*block(NOISE, 32), *block(32, 32), nn.Linear(32, DAYS), nn.Softplus())
critic = nn.Sequential(*block(DAYS, 32), *block(32, 32), nn.Linear(32, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.999))
history = []

for step in range(60):
    real = rainfall(BATCH)
    fake = generator(torch.randn(BATCH, NOISE))
    on_real, on_fake = critic(real), critic(fake)

    loss_c = F.relu(1 - on_real).mean() + F.relu(1 + on_fake).mean()

    opt_c.zero_grad()
    loss_c.backward(retain_graph=True)
    opt_c.step()

    loss_g = -critic(fake).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    history.append((loss_c.item(), loss_g.item()))

tail = torch.tensor(history[-10:]).mean(0)
with torch.no_grad():
    sample = torch.expm1(generator(torch.randn(500, NOISE)))
print("critic %.3f  generator %.3f" % tuple(tail.tolist()))
print("mean rain per day: made %.2f, real %.2f" % (sample.mean(), torch.expm1(rainfall(500)).mean()))
