import contextlib
import math

import torch
from torch import nn


def embed_time(t, dims):
    freqs = torch.exp(-math.log(1000) * torch.arange(dims // 2) / (dims // 2))
    angles = t.float().unsqueeze(1) * freqs
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class Block(nn.Module):
    def __init__(self, width, time):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.time = nn.Linear(time, 2 * width)
        self.lin = nn.Linear(width, width)
        nn.init.zeros_(self.lin.weight)
        nn.init.zeros_(self.lin.bias)

    def forward(self, x, t):
        scale, shift = self.time(t).chunk(2, dim=-1)
        return x + self.lin(nn.functional.silu(self.norm(x) * (1 + scale) + shift))


class Denoiser(nn.Module):
    def __init__(self, dims=2, width=32, time=16, depth=3):
        super().__init__()
        self.time_dims = time
        self.enter = nn.Linear(dims, width)
        self.blocks = nn.ModuleList([Block(width, time) for _ in range(depth)])
        self.leave = nn.Linear(width, dims)

    def forward(self, x, t):
        t = embed_time(t, self.time_dims)
        x = self.enter(x)
        for block in self.blocks:
            x = block(x, t)
        return self.leave(x)


class EMA:
    def __init__(self, model, decay=0.95):
        self.decay = decay
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    def update(self, model):
        for name, p in model.named_parameters():
            self.shadow[name].lerp_(p.detach(), 1 - self.decay)

    @contextlib.contextmanager
    def swapped(self, model):
        kept = {name: p.detach().clone() for name, p in model.named_parameters()}
        with torch.no_grad():
            for name, p in model.named_parameters():
                p.copy_(self.shadow[name])
        try:
            yield model
        finally:
            with torch.no_grad():
                for name, p in model.named_parameters():
                    p.copy_(kept[name])


class Diffusion:
    def __init__(self, steps=50):
        self.betas = torch.linspace(1e-4, 0.05, steps)
        self.alphas = 1 - self.betas
        self.bar = self.alphas.cumprod(0)

    def loss(self, model, x):
        t = torch.randint(len(self.betas), (len(x),))
        noise = torch.randn_like(x)
        bar = self.bar[t].unsqueeze(1)
        noisy = bar.sqrt() * x + (1 - bar).sqrt() * noise
        return (model(noisy, t) - noise).pow(2).mean()

    @torch.inference_mode()
    def sample(self, model, count):
        x = torch.randn(count, 2)
        for i in reversed(range(len(self.betas))):
            guess = model(x, torch.full((count,), i))
            x = (x - self.betas[i] / (1 - self.bar[i]).sqrt() * guess) / self.alphas[i].sqrt()
            if i:
                x = x + self.betas[i].sqrt() * torch.randn_like(x)
        return x


def ring(count):
    angle = torch.rand(count) * 2 * math.pi
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(count, 2)


torch.manual_seed(3)
model, diffusion = Denoiser(), Diffusion()
ema = EMA(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 5))
for step in range(12):
    loss = diffusion.loss(model, ring(64))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    ema.update(model)
with ema.swapped(model):
    print(diffusion.sample(model, 5).norm(dim=1))
