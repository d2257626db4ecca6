import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(62)
BATCH, PATCH, NOISE = 32, 25, 6


class TerrainGAN:
    def __init__(self, penalty=10.0):
        self.penalty = penalty
        self.generator = nn.Sequential(nn.Linear(NOISE, 32), nn.ReLU(), nn.Linear(32, PATCH))
        self.critic = nn.Sequential(nn.Linear(PATCH, 32), nn.Softplus(), nn.Linear(32, 1, bias=False))
        self.opt_g = torch.optim.Adam(self.generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
        self.opt_c = torch.optim.Adam(self.critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
        self.ones = torch.ones(BATCH, 1)

    def slope_penalty(self, real, fake):
        share = torch.rand(len(real), 1)
        mixed = (share * real + (1 - share) * fake).requires_grad_(True)
        score = self.critic(mixed)
        (slope,) = torch.autograd.grad(score, mixed, grad_outputs=self.ones, create_graph=True)
        return (slope.norm(dim=1) - 1).pow(2).mean()

    def critic_step(self, real):
        with torch.no_grad():
            fake = self.generator(torch.randn(len(real), NOISE))
        gap = self.critic(fake).mean() - self.critic(real).mean()
        loss = gap + self.penalty * self.slope_penalty(real, fake)
        self.opt_c.zero_grad()
        loss.backward()
        self.opt_c.step()
        return -gap.item()

    def generator_step(self, n):
        loss = -self.critic(self.generator(torch.randn(n, NOISE))).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()


def height_patches(n):
    slope = torch.randn(n, 1, 2)
    axis = torch.linspace(-1, 1, 5)
    grid = torch.stack(torch.meshgrid(axis, axis, indexing="ij")).view(2, -1)
    return (slope @ grid).squeeze(1) + 0.1 * torch.randn(n, PATCH)


gan = TerrainGAN()
loader = DataLoader(TensorDataset(height_patches(200)), batch_size=BATCH, shuffle=True)
for epoch in range(3):
    for i, (real,) in enumerate(loader):
        distance = gan.critic_step(real)
        if i % 3 == 2:
            gan.generator_step(len(real))
    print(f"epoch {epoch}  distance {distance:.3f}")
