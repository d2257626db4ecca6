import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(55)
rng = np.random.default_rng(55)


class StrokeImages(Dataset):
    def __init__(self, count):
        self.images = rng.integers(0, 40, size=(count, 12, 12), dtype=np.uint8)
        self.labels = rng.integers(0, 3, size=count)
        for image, label in zip(self.images, self.labels):
            at = rng.integers(2, 10)
            if label == 0:
                image[at, 1:11] = 220
            elif label == 1:
                image[1:11, at] = 220
            else:
                np.fill_diagonal(image, 220)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return torch.from_numpy(self.images[i]).unsqueeze(0), int(self.labels[i])


class StrokeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 6, 3), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(150, 3),
        )

    def forward(self, image):
        return self.layers(image.float() / 255)


def train(net, loader, epochs=3):
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
    for epoch in range(epochs):
        for image, label in loader:
            loss = nn.functional.cross_entropy(net(image), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.3f}")


def sensitivity(net, loader):
    total = torch.zeros(12, 12)
    for image, label in loader:
        image.requires_grad = True
        score = net(image).gather(1, label[:, None]).sum()
        (slope,) = torch.autograd.grad(score, image)
        total += slope.abs().sum(dim=(0, 1))
    return total / len(loader.dataset)


net = StrokeNet()
train(net, DataLoader(StrokeImages(160), batch_size=32, shuffle=True))
heat = sensitivity(net.eval(), DataLoader(StrokeImages(40), batch_size=20))
print("most sensitive pixel", divmod(heat.argmax().item(), 12))
