import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(91)


class Backbone(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 3, stride=2), nn.GELU(),
            nn.Conv2d(width, width, 3, stride=2), nn.GELU(),
        )
        self.width = width

    def forward(self, x):
        return self.net(x).mean(dim=(2, 3))


class PlanktonImages(Dataset):
    def __init__(self, n, size=20):
        self.kind = torch.randint(0, 3, (n,))
        stripes = torch.arange(size) % (2 + self.kind[:, None]) == 0
        self.image = (stripes.float()[:, None, None, :] + 0.2 * torch.rand(n, 1, size, size))

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        return self.image[i], self.kind[i]


class FeatureBank(Dataset):
    """Runs the backbone once over a dataset and serves what it gave."""

    def __init__(self, backbone, images, batch_size=32):
        backbone.eval()
        rows, kinds = [], []
        with torch.inference_mode():
            for image, kind in DataLoader(images, batch_size=batch_size):
                rows.append(backbone(image))
                kinds.append(kind)
            self.rows, self.kinds = torch.cat(rows), torch.cat(kinds)

    def batches(self, size):
        for start in range(0, len(self.kinds), size):
            stop = start + size
            yield self.rows[start:stop], self.kinds[start:stop]


def fit_probe(bank, width, epochs=5):
    probe = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 3))
    optimizer = torch.optim.Adam(probe.parameters(), lr=2e-2)
    for epoch in range(epochs):
        for rows, kinds in bank.batches(24):
            loss = nn.functional.cross_entropy(probe(rows), kinds)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.3f}")
    return probe


backbone = Backbone()
bank = FeatureBank(backbone, PlanktonImages(120))
fit_probe(bank, backbone.width)
