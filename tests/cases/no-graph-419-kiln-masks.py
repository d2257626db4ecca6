import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class KilnShots(Dataset):
    def __init__(self, count=40, size=12):
        g = torch.Generator().manual_seed(419)
        self.image = torch.rand(count, 2, size, size, generator=g)
        self.mask = (self.image.mean(dim=1, keepdim=True) > 0.55).float()
        self.heat = self.image[:, 1].mean(dim=(1, 2))

    def __len__(self):
        return len(self.image)

    def __getitem__(self, i):
        return {"image": self.image[i], "mask": self.mask[i], "heat": self.heat[i]}


class KilnNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(2, width, 3, padding=1), nn.ReLU())
        self.to_mask = nn.Conv2d(width, 1, 1)
        self.to_heat = nn.Linear(width, 1)

    def forward(self, image):
        h = self.body(image)
        return {"mask": self.to_mask(h).sigmoid(), "heat": self.to_heat(h.mean(dim=(2, 3))).squeeze(1)}


def compute_loss(record, batch):
    mask = F.binary_cross_entropy(record["mask"], batch["mask"])
    heat = F.mse_loss(record["heat"], batch["heat"])
    return mask + 10 * heat


def main():
    torch.manual_seed(419)
    net = KilnNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for epoch in range(3):
        for batch in DataLoader(KilnShots(), batch_size=8, shuffle=True):
            record = {**net(batch["image"]), **batch}
            loss = compute_loss(record, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.4f}, images {len(record['image'])}")


if __name__ == "__main__":
    main()
