import torch
from torch import nn
import torch.nn.functional as F


class RegionNet(nn.Module):
    def __init__(self, classes=3, width=10):
        super().__init__()
        self.enc = nn.Conv2d(1, width, 3, padding=1)
        self.mid = nn.Conv2d(width, width, 3, padding=1)
        self.out = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        x = F.relu(self.enc(x))
        return self.out(F.relu(self.mid(x)))


class OverlapLoss(nn.Module):
    def __init__(self, classes, eps=1.0):
        super().__init__()
        self.classes, self.eps = classes, eps

    def forward(self, logits, labels):
        truth = F.one_hot(labels, self.classes).permute(0, 3, 1, 2).float()
        decided = logits.argmax(dim=1)
        guess = F.one_hot(decided, self.classes).permute(0, 3, 1, 2).float()
        shared = (guess * truth).sum(dim=(0, 2, 3))
        area = guess.sum(dim=(0, 2, 3)) + truth.sum(dim=(0, 2, 3))
        return 1 - ((2 * shared + self.eps) / (area + self.eps)).mean()


def scenes(count, size=16):
    labels = torch.zeros(count, size, size, dtype=torch.long)
    for k in range(count):
        left, top = torch.randint(0, size // 2, (2,)).tolist()
        labels[k, top:top + 6, left:left + 5] = 1
        labels[k, :, -3:] = 2
    images = labels.unsqueeze(1) * 0.5 + 0.1 * torch.randn(count, 1, size, size)
    return images, labels


def pixel_accuracy(net, images, labels):
    with torch.no_grad():
        return (net(images).argmax(1) == labels).float().mean().item()


def main():
    torch.manual_seed(31)
    images, labels = scenes(24)
    net = RegionNet()
    loss_fn = OverlapLoss(3)
    opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
    print(f"before: {pixel_accuracy(net, images, labels):.3f}")
    for epoch in range(6):
        for x, y in zip(images.split(8), labels.split(8)):
            opt.zero_grad()
            loss = loss_fn(net(x), y)
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {pixel_accuracy(net, images, labels):.3f}")


main()
