import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(45)


class Encoder(nn.Module):
    stop_at_features = False

    def __init__(self, inputs=40, width=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, width))

    def forward(self, x):
        features = F.normalize(self.body(x), dim=1)
        return features.detach() if self.stop_at_features else features


class Prototypes:
    def __init__(self, encoder, x, y, classes):
        with torch.no_grad():
            features = encoder(x)
            means = torch.stack([features[y == c].mean(0) for c in range(classes)])
        self.means = F.normalize(means, dim=1)

    def logits(self, features, temperature=0.2):
        return features @ self.means.t() / temperature


def probe(encoder, x, y, classes, epochs=4):
    Encoder.stop_at_features = True
    head = nn.Linear(16, classes)
    optimizer = torch.optim.Adam(head.parameters(), lr=2e-2)
    for _ in range(epochs):
        loss = F.cross_entropy(head(encoder(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (head(encoder(x)).argmax(1) == y).float().mean().item()


def finetune(encoder, x, y, classes, rounds=3):
    optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)
    for number in range(rounds):
        prototypes = Prototypes(encoder, x, y, classes)
        for rows in torch.randperm(len(x)).split(20):
            logits = prototypes.logits(encoder(x[rows]))
            with torch.no_grad():
                weight = 1 - logits.softmax(1).gather(1, y[rows, None]).squeeze(1)
            loss = (weight * F.cross_entropy(logits, y[rows], reduction="none")).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"  round {number} loss {loss.item():.4f}")


def main(classes=5):
    encoder = Encoder()
    y = torch.arange(100) % classes
    x = torch.randn(classes, 40)[y] + torch.randn(100, 40)
    for stage in range(2):
        print("stage", stage)
        finetune(encoder, x, y, classes)
        print(f"  probe accuracy {probe(encoder, x, y, classes):.2f}")


if __name__ == "__main__":
    main()
