import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(12)


class Volume(nn.Module):
    def __init__(self, side=10):
        super().__init__()
        self.density = nn.Parameter(torch.zeros(side, side, side))
        self.colour = nn.Parameter(0.1 * torch.randn(3, side, side, side))

    def render(self, axis):
        alpha = 1 - torch.exp(-F.softplus(self.density))
        alpha = alpha.movedim(axis, -1)
        through = torch.cumprod(1 - alpha + 1e-6, -1) / (1 - alpha + 1e-6)
        weights = alpha * through
        return (weights * torch.sigmoid(self.colour).movedim(axis + 1, -1)).sum(-1)[None]


class LatentDiffusion:
    def __init__(self, channels=4):
        self.vae = nn.Conv2d(3, channels, 3, padding=1).requires_grad_(False)
        self.unet = nn.Sequential(nn.Conv2d(channels + 8, 16, 3, padding=1), nn.SiLU(), nn.Conv2d(16, channels, 3, padding=1))
        self.unet.requires_grad_(False)
        self.alphas = torch.cumprod(torch.linspace(0.999, 0.97, 100), 0)

    @torch.no_grad()
    def encode(self, image):
        return self.vae(image * 2 - 1) * 0.18

    def noise(self, latents, text):
        text = text.view(1, -1, 1, 1).expand(-1, -1, *latents.shape[-2:])
        return self.unet(torch.cat([latents, text], 1))


class ScoreDistillation:
    def __init__(self, model, scale=7.5):
        self.model, self.scale = model, scale

    def __call__(self, image, text, empty):
        latents = self.model.encode(image)
        t = torch.randint(2, 98, ())
        a = self.model.alphas[t]
        with torch.no_grad():
            noise = torch.randn_like(latents)
            noisy = a.sqrt() * latents + (1 - a).sqrt() * noise
            plain, guided = self.model.noise(noisy, empty), self.model.noise(noisy, text)
            predicted = plain + self.scale * (guided - plain)
        direction = (1 - a) * (predicted - noise)
        target = (latents - direction).detach()
        return 0.5 * F.mse_loss(latents, target, reduction="sum") / len(latents)


def optimise(volume, guide, text, steps=20):
    empty = torch.zeros_like(text)
    optimizer = torch.optim.Adam(volume.parameters(), lr=2e-2)
    for step in range(steps):
        image = volume.render(axis=step % 3)
        loss = guide(image, text, empty)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.4f} mean {image.mean().item():.4f}")


optimise(Volume(), ScoreDistillation(LatentDiffusion()), torch.randn(8))
