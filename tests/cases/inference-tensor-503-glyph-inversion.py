import torch
import torch.nn.functional as F
from torch import nn, optim

torch.manual_seed(118)
SIDE, CODE = 8, 6


class GlyphAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(SIDE * SIDE, 32), nn.ReLU(), nn.Linear(32, CODE))
        self.decoder = nn.Sequential(nn.Linear(CODE, 32), nn.ReLU(), nn.Linear(32, SIDE * SIDE))

    def encode(self, glyph):
        return self.encoder(glyph)

    def decode(self, code):
        return self.decoder(code).view(-1, SIDE, SIDE).sigmoid()

    @torch.inference_mode()
    def guess(self, glyph):
        self.eval()
        return self.encode(glyph)


def glyphs(n):
    grid = torch.arange(SIDE)
    row, col = torch.randint(1, SIDE - 1, (2, n))
    bar = (grid[None, :] - row[:, None]).abs().le(1)[:, :, None]
    post = (grid[None, :] == col[:, None])[:, None, :]
    return (bar | post).float()


def pretrain(model, steps=60):
    optimizer = optim.Adam(model.parameters(), lr=5e-3)
    model.train()
    for _ in range(steps):
        batch = glyphs(48)
        loss = F.binary_cross_entropy(model.decode(model.encode(batch)), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def restore(model, damaged, seen, steps=30):
    """Search the code whose glyph agrees with the pixels that were seen."""
    code = model.guess(damaged)
    code.requires_grad_(True)
    optimizer = optim.Adam([code], lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((model.decode(code) - damaged) * seen).pow(2).sum() / seen.sum()
        loss.backward()
        optimizer.step()
    return model.decode(code).detach(), loss.item()


model = GlyphAutoencoder()
print(f"pretraining loss {pretrain(model):.3f}")
whole = glyphs(4)
seen = (torch.rand_like(whole) > 0.4).float()
restored, gap = restore(model, whole * seen, seen)
print(f"seen {gap:.4f}, all {(restored - whole).pow(2).mean().item():.4f}")
