import torch
import torch.nn as nn
import torch.nn.functional as F


class SheetEncoder(nn.Module):
    def __init__(self, channels=3, width=16, out=32):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(channels, width, 3, stride=2, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.project = nn.Linear(width, out)

    def forward(self, images):
        return self.project(self.stem(images))


class Herbarium:
    """Finds the sheets that look most like a given one."""

    def __init__(self, encoder, temperature=0.1):
        self.encoder = encoder
        self.temperature = temperature
        self.index = None

    def embed(self, images):
        return F.normalize(self.encoder(images), dim=-1)

    def build(self, images, batch=16):
        self.encoder.eval()
        with torch.no_grad():
            self.index = torch.cat([self.embed(part) for part in images.split(batch)])
        self.encoder.train()

    def query(self, image, k=3):
        scores = self.embed(image.unsqueeze(0)) @ self.index.T
        return scores.topk(k).indices.squeeze(0).tolist()

    def contrast(self, first, second):
        a, b = self.embed(first), self.embed(second)
        logits = a @ b.T / self.temperature
        labels = torch.arange(len(a))
        return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2


def augment(images):
    flipped = torch.where(torch.rand(len(images), 1, 1, 1) < 0.5, images.flip(-1), images)
    return flipped + 0.05 * torch.randn_like(flipped)


def fit(system, images, epochs=2, batch=16):
    optimizer = torch.optim.Adam(system.encoder.parameters(), lr=1e-3)
    for epoch in range(epochs):
        for part in images[torch.randperm(len(images))].split(batch):
            loss = system.contrast(augment(part), augment(part))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        system.build(images)
        print(epoch, round(loss.item(), 3), system.query(images[0]))


if __name__ == "__main__":
    torch.manual_seed(7)
    fit(Herbarium(SheetEncoder()), torch.rand(48, 3, 24, 24))
