import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(30)


class Standardize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1))
        self.register_buffer("std", torch.tensor(std).view(-1, 1, 1))

    def forward(self, images):
        batch = torch.stack([self.fit(image) for image in images])
        return (batch - self.mean) / self.std

    def fit(self, image, size=16):
        image = image.float() / image.detach().max().clamp(min=1e-6)
        small = F.interpolate(image[None], size=(size, size), mode="bilinear", align_corners=False)
        return small[0].detach()


class LeafNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.prepare = Standardize([0.4, 0.5, 0.3], [0.2, 0.2, 0.2])
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1, stride=2)
        self.head = nn.Linear(16, classes)

    def forward(self, images):
        x = F.relu(self.conv1(self.prepare(images)))
        x = F.relu(self.conv2(x))
        return self.head(x.mean(dim=(2, 3)))


def photos(count):
    labels = torch.randint(3, (count,))
    images = 0.3 * torch.rand(count, 3, 24, 20)
    images[torch.arange(count), labels] += 0.5
    return images, labels


def fit(net, rounds=30):
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(rounds):
        images, labels = photos(24)
        loss = F.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def saliency(net, images):
    images = images.clone().requires_grad_(True)
    best = net(images).max(dim=1).values
    (slope,) = torch.autograd.grad(best.sum(), images)
    return slope.abs().amax(dim=1)


if __name__ == "__main__":
    net = LeafNet()
    print("loss", round(fit(net), 4))
    net.eval()
    maps = saliency(net, photos(4)[0])
    print("maps", tuple(maps.shape), "peak", round(maps.max().item(), 4))
