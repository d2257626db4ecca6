import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(19)


def sincos(count, dim):
    rate = 1 / 100 ** (np.arange(dim // 2) / (dim // 2))
    angle = np.arange(count)[:, None] * rate
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1)


class PatchEmbed(nn.Module):
    def __init__(self, patch=4, side=16, dim=24):
        super().__init__()
        self.proj = nn.Conv2d(1, dim, patch, stride=patch)
        count = (side // patch) ** 2
        self.pos = nn.Parameter(torch.from_numpy(sincos(count, dim))).float()

    def forward(self, image):
        return self.proj(image).flatten(2).transpose(1, 2) + self.pos


class TinyViT(nn.Module):
    def __init__(self, dim=24, classes=4):
        super().__init__()
        self.patches = PatchEmbed(dim=dim)
        self.block = nn.TransformerEncoderLayer(dim, 4, 48, dropout=0.0, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, image):
        tokens = self.block(self.patches(image))
        return self.head(self.norm(tokens.mean(dim=1)))


def quadrants(n=24):
    label = torch.randint(0, 4, (n,))
    image = 0.2 * torch.randn(n, 1, 16, 16)
    for i, k in enumerate(label.tolist()):
        y, x = 8 * (k // 2), 8 * (k % 2)
        image[i, 0, y + 2:y + 6, x + 2:x + 6] += 1
    return image, label


vit = TinyViT()
optimizer = torch.optim.AdamW(vit.parameters(), lr=2e-3)
for step in range(40):
    image, label = quadrants()
    loss = F.cross_entropy(vit(image), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4))
