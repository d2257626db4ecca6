import torch
from torch import nn


class MaskNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, 1, 1),
        )

    def forward(self, x):
        return self.net(x)


def dice(mask, truth, smooth=1.0):
    mask, truth = mask.flatten(1), truth.flatten(1)
    shared = (mask * truth).sum(1)
    return ((2 * shared + smooth) / (mask.sum(1) + truth.sum(1) + smooth)).mean()


def leaves(count=24, size=16):
    truth = torch.zeros(count, 1, size, size)
    for i in range(count):
        r, c = torch.randint(0, size - 6, (2,)).tolist()
        truth[i, 0, r:r + 6, c:c + 6] = 1.0
    image = torch.cat([truth, 1 - truth, torch.rand_like(truth)], 1)
    return image + 0.2 * torch.randn_like(image), truth


def evaluate(model, image, truth):
    model.eval()
    with torch.no_grad():
        mask = (torch.sigmoid(model(image)) > 0.5).float()
        score = dice(mask, truth).item()
    model.train()
    return score


def train(model, image, truth, epochs=6):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(epochs):
        for x, y in zip(image.split(6), truth.split(6)):
            optimizer.zero_grad()
            probs = torch.sigmoid(model(x))
            mask = (probs > 0.5).float()
            loss = 1 - dice(probs, y)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f} dice {evaluate(model, image, truth):.4f}")


if __name__ == "__main__":
    torch.manual_seed(1)
    train(MaskNet(), *leaves())
