import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Progress:
    def __init__(self):
        self.reset()

    def reset(self):
        self.running, self.seen = 0.0, 0

    def update(self, loss):
        self.running = self.running + loss
        self.seen += 1
        return self.running / self.seen


class Letters(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 6, 3), nn.GELU(), nn.MaxPool2d(2))
        self.classify = nn.LazyLinear(classes)

    def forward(self, x):
        return self.classify(self.features(x).flatten(1))


def loaders():
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(64, 1, 12, 12, generator=generator)
    y = torch.randint(0, 4, (64,), generator=generator)
    return DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True, generator=generator)


def train(model, loader, epochs):
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-3)
    progress = Progress()
    for epoch in range(epochs):
        progress.reset()
        for images, labels in loader:
            logits = model(images)
            loss = F.cross_entropy(logits, labels, label_smoothing=0.1)
            average = progress.update(loss)
            optimizer.zero_grad()
            average.backward()
            optimizer.step()
        print(f"epoch {epoch + 1}: {float(average):.4f}")


if __name__ == "__main__":
    torch.manual_seed(5)
    net = Letters()
    net(torch.zeros(1, 1, 12, 12))
    train(net, loaders(), epochs=2)
