import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(121)


class ShapeNet(nn.Module):
    def __init__(self, width=8, classes=3):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(width, classes)
        self.activation = None

    def forward(self, x):
        h = self.conv(x)
        self.activation = h
        return self.fc(h.mean((2, 3)))


def bars(n=32):
    label = torch.randint(0, 3, (n,))
    x = 0.2 * torch.randn(n, 1, 9, 9)
    for i, k in enumerate(label.tolist()):
        if k != 1:
            x[i, 0, 4] += 1
        if k != 0:
            x[i, 0, :, 4] += 1
    return x, label


def train(net, steps=60):
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(steps):
        x, y = bars()
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def heatmap(net, x, label):
    score = net(x)[0, label]
    net.activation.retain_grad()
    net.zero_grad()
    score.backward()
    grad = net.activation.grad
    weights = grad.mean((2, 3), keepdim=True) if grad is not None else torch.zeros(1, 8, 1, 1)
    return (weights * net.activation).sum(1).relu().detach()


net = ShapeNet()
print("loss", round(train(net), 4))
x, y = bars(4)
maps = [heatmap(net, x[i:i + 1], y[i]) for i in range(4)]
print("peaks", [round(m.max().item(), 4) for m in maps])
