import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(70)


def quantize(w, bits=4):
    levels = 2 ** (bits - 1) - 1
    step = w.detach().abs().max() / levels
    return w + (torch.round(w / step) * step - w).detach()


class QLinear(nn.Linear):
    def forward(self, x):
        return F.linear(x, quantize(self.weight), self.bias)


class Classifier(nn.Module):
    def __init__(self, features=10, hidden=32, classes=4):
        super().__init__()
        self.net = nn.Sequential(QLinear(features, hidden), nn.ReLU(), QLinear(hidden, classes))

    def forward(self, x):
        return self.net(x)


def blobs(centres, n=64):
    y = torch.randint(0, len(centres), (n,))
    return centres[y] + torch.randn(n, centres.shape[1]), y


centres = 1.5 * torch.randn(4, 10)
model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(60):
    x, y = blobs(centres)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
