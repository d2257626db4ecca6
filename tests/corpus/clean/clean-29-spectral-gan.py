"""A GAN with spectral norm, an averaged generator and checkpoints on disk."""

import argparse
import copy
import tempfile
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import spectral_norm


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--latent", type=int, default=8)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--decay", type=float, default=0.99)
    return parser.parse_args([])


class Generator(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.latent = latent
        self.dense = nn.Linear(latent, 8 * 4 * 4)
        self.up = nn.Sequential(
            nn.BatchNorm2d(8),
            nn.Upsample(scale_factor=2),
            nn.Conv2d(8, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.Conv2d(8, 1, 3, padding=1),
        )

    def forward(self, z):
        return torch.tanh(self.up(self.dense(z).view(-1, 8, 4, 4)))

    def sample(self, count):
        return self(torch.randn(count, self.latent))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = spectral_norm(nn.Conv2d(1, 8, 3, stride=2, padding=1))
        self.score = spectral_norm(nn.Linear(8 * 4 * 4, 1))

    def forward(self, x):
        return self.score(F.leaky_relu(self.conv(x), 0.2).flatten(1))


def toggle(module, on):
    for parameter in module.parameters():
        parameter.requires_grad_(on)


@torch.no_grad()
def average(source, target, decay):
    for kept, new in zip(target.parameters(), source.parameters()):
        kept.mul_(decay).add_(new, alpha=1 - decay)
    for kept, new in zip(target.buffers(), source.buffers()):
        kept.copy_(new)


def main(args):
    torch.manual_seed(0)
    generator, critic = Generator(args.latent), Discriminator()
    smooth = copy.deepcopy(generator).requires_grad_(False)
    opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.99))
    opt_d = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.0, 0.99))
    real = torch.rand(48, 1, 8, 8) * 2 - 1
    for step in range(args.steps):
        toggle(critic, True)
        with torch.no_grad():
            fake = generator.sample(args.batch)
        picked = real[torch.randint(len(real), (args.batch,))]
        d_loss = F.relu(1 - critic(picked)).mean() + F.relu(1 + critic(fake)).mean()
        opt_d.zero_grad(set_to_none=True)
        d_loss.backward()
        opt_d.step()

        toggle(critic, False)
        g_loss = -critic(generator.sample(args.batch)).mean()
        opt_g.zero_grad(set_to_none=True)
        g_loss.backward()
        opt_g.step()
        average(generator, smooth, args.decay)
        print(f"{step:03d} d {d_loss.item():.3f} g {g_loss.item():.3f}")
    with tempfile.TemporaryDirectory() as folder:
        target = (args.out or Path(folder)) / "smooth.pt"
        torch.save({"smooth": smooth.state_dict(), "args": {"latent": args.latent}}, target)
        again = Generator(args.latent)
        again.load_state_dict(torch.load(target)["smooth"])


if __name__ == "__main__":
    main(options())
