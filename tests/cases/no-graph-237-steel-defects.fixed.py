import torch
from torch import nn
import torch.nn.functional as F


class FeatureBank:
    def __init__(self, backbone, adapter):
        self.backbone, self.adapter = backbone.eval(), adapter
        for p in self.backbone.parameters():
            p.requires_grad_(False)

    def normalise(self, images):
        mean = images.mean(dim=(1, 2, 3), keepdim=True)
        return (images - mean) / (images.std(dim=(1, 2, 3), keepdim=True) + 1e-5)


    def __call__(self, images):
        maps = self.backbone(self.normalise(images))
        return F.normalize(self.adapter(maps.flatten(1)), dim=1)


class Prototypes:
    def __init__(self, bank, kinds):
        self.bank, self.kinds = bank, kinds
        self.centres = None

    def refresh(self, images, kind):
        with torch.no_grad():
            z = self.bank(images)
            self.centres = torch.stack([z[kind == k].mean(0) for k in range(self.kinds)])

    def loss(self, images, kind, scale=8.0):
        logits = scale * self.bank(images) @ self.centres.t()
        return F.cross_entropy(logits, kind), logits.argmax(1).eq(kind).float().mean().item()


def plates(count, size=12):
    kind = torch.randint(0, 3, (count,))
    images = 0.4 * torch.randn(count, 1, size, size)
    for i, k in enumerate(kind.tolist()):
        if k == 1:
            images[i, 0, size // 2] += 1
        elif k == 2:
            images[i, 0, 4:8, 4:8] += 1
    return images, kind


def main():
    torch.manual_seed(59)
    backbone = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(3))
    adapter = nn.Linear(72, 16)
    prototypes = Prototypes(FeatureBank(backbone, adapter), kinds=3)
    optimizer = torch.optim.Adam(adapter.parameters(), lr=5e-3)
    images, kind = plates(120)
    for epoch in range(5):
        prototypes.refresh(images, kind)
        for idx in torch.randperm(120).split(24):
            loss, hits = prototypes.loss(images[idx], kind[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"{epoch} {loss.item():.4f} {hits:.2f}")


main()
