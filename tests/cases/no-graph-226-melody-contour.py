import numpy as np
import torch
from torch import nn


class Composer(nn.Module):
    def __init__(self, moods=4, length=12):
        super().__init__()
        self.mood = nn.Embedding(moods, 8)
        self.line = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, length))

    def forward(self, mood):
        return self.line(self.mood(mood))


def warp_cost(a, b):
    rows, cols = len(a), len(b)
    table = np.full((rows + 1, cols + 1), np.inf, dtype=np.float32)
    table[0, 0] = 0
    for i in range(rows):
        for j in range(cols):
            step = min(table[i, j], table[i, j + 1], table[i + 1, j])
            table[i + 1, j + 1] = abs(a[i] - b[j]) + step
    return table[rows, cols]


class ContourLoss(nn.Module):
    def forward(self, pitch, goal):
        ours, theirs = pitch.detach().numpy(), goal.numpy()
        costs = np.array([warp_cost(a, b) for a, b in zip(ours, theirs)])
        return torch.from_numpy(costs).mean()


def songs(count, length=12):
    mood = torch.randint(0, 4, (count,))
    t = torch.arange(length) / length
    pitch = torch.sin(2 * torch.pi * t * (mood[:, None] + 1) / 2)
    return mood, pitch + 0.05 * torch.randn(count, length)


def main():
    torch.manual_seed(52)
    np.random.seed(52)
    mood, pitch = songs(64)
    composer, criterion = Composer(), ContourLoss()
    optimizer = torch.optim.Adam(composer.parameters(), lr=0.01)
    for epoch in range(3):
        for idx in np.array_split(np.random.permutation(64), 8):
            loss = criterion(composer(mood[idx]), pitch[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        spread = pitch.numpy().std(axis=0).mean()
        print(f"epoch {epoch} loss {loss.item():.3f} spread {spread:.3f}")


main()
