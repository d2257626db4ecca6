import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(52)


class Embedder(nn.Module):
    def __init__(self, pixels=100, width=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(pixels, 48), nn.ReLU(), nn.Linear(48, width))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


class SemiHardTriplets:
    def __init__(self, margin=0.3):
        self.margin = margin

    def mine(self, embeddings, people):
        with torch.no_grad():
            distance = torch.cdist(embeddings, embeddings)
        same = people[:, None] == people[None, :]
        triplets = []
        for a in range(len(people)):
            positives = same[a].nonzero().flatten().tolist()
            negatives = (~same[a]).nonzero().flatten()
            for p in positives:
                if p == a or len(negatives) == 0:
                    continue
                n = negatives[distance[a, negatives].argmin()].item()
                if distance[a, p] + self.margin > distance[a, n]:
                    triplets.append((a, p, n))
        return triplets

    def __call__(self, embeddings, people):
        triplets = self.mine(embeddings, people)
        if not triplets:
            return torch.zeros(()), 0
        a, p, n = torch.tensor(triplets).t()
        loss = F.triplet_margin_loss(embeddings[a], embeddings[p], embeddings[n], margin=self.margin)
        return loss, len(triplets)


def sessions(order, size=8):
    faces = torch.randn(6, 100)
    for people in order:
        people = torch.tensor(people)
        yield faces[people] + 0.7 * torch.randn(size, 100), people


def train(order, epochs=2):
    model, criterion = Embedder(), SemiHardTriplets()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        total, count = 0.0, 0
        for images, people in sessions(order):
            loss, used = criterion(model(images), people)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, count = total + loss.item() * used, count + used
        print(f"epoch {epoch} triplets {count} loss {total / max(count, 1):.4f}")


train([
    [0, 0, 1, 1, 2, 2, 3, 3],
    [4, 4, 5, 5, 0, 0, 1, 1],
    [2, 2, 3, 3, 4, 4, 5, 5],
    [1, 1, 1, 1, 1, 1, 1, 1],
    [0, 3, 0, 3, 5, 2, 5, 2],
])
