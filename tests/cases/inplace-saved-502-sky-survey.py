import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(18)


def conv3x3(c_in, c_out, stride=1):
    return nn.Conv2d(c_in, c_out, 3, stride=stride, padding=1, bias=False)


class PreActBlock(nn.Module):
    def __init__(self, c_in, c_out, stride=1):
        super().__init__()
        self.residual = nn.Sequential(
            nn.ReLU(inplace=True),
            conv3x3(c_in, c_out, stride),
            nn.BatchNorm2d(c_out),
            nn.ReLU(inplace=True),
            conv3x3(c_out, c_out),
        )
        self.shortcut = None
        if stride != 1 or c_in != c_out:
            self.shortcut = nn.Conv2d(c_in, c_out, 1, stride=stride, bias=False)

    def forward(self, x):
        identity = x if self.shortcut is None else self.shortcut(x)
        return identity + self.residual(x)


class SourceClassifier(nn.Module):
    def __init__(self, widths=(8, 16, 24), classes=3):
        super().__init__()
        self.stem = conv3x3(1, widths[0])
        self.blocks = nn.Sequential(*[PreActBlock(a, b, stride=2) for a, b in zip(widths[:-1], widths[1:])])
        self.norm = nn.BatchNorm2d(widths[-1])
        self.fc = nn.Linear(widths[-1], classes)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        x = F.relu(self.norm(x), inplace=True)
        return self.fc(x.mean((2, 3)))


def cutouts(count, size=16):
    kind = torch.randint(3, (count,))
    axis = torch.linspace(-1, 1, size)
    r = (axis[:, None] ** 2 + axis ** 2).sqrt()
    profiles = torch.stack([torch.exp(-r * 12), torch.exp(-r * 3), (r - 0.6).abs().mul(-8).exp()])
    return profiles[kind].unsqueeze(1) + 0.1 * torch.randn(count, 1, size, size), kind


if __name__ == "__main__":
    model = SourceClassifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(20):
        images, kinds = cutouts(16)
        loss = F.cross_entropy(model(images), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")
