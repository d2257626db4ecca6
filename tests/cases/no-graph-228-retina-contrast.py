import numpy as np
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 6, 5, padding=2)

    def forward(self, x):
        return torch.relu(self.conv(x.unsqueeze(1)))


class Readout:
    """Fixed random projection after the encoder."""

    def __init__(self, length, outputs, seed=0):
        rng = np.random.default_rng(seed)
        self.length = length
        self.matrix = torch.from_numpy(rng.normal(size=(6 * length, outputs)).astype(np.float32) / length)

    def pad(self, maps):
        arrays = maps.tolist()
        short = self.length - len(arrays[0][0])
        padded = np.pad(np.asarray(arrays, dtype=np.float32), ((0, 0), (0, 0), (0, short)))
        return torch.FloatTensor(padded)

    def __call__(self, maps):
        return self.pad(maps).flatten(1) @ self.matrix


def recordings(groups=6, size=16):
    out = []
    for _ in range(groups):
        length = int(np.random.randint(16, 25))
        x = torch.randn(size, length).cumsum(1)
        out.append((x, (x[:, -1] > 0).long()))
    return out


def accuracy(encoder, readout, data):
    hits = [(readout(encoder(x)).argmax(1) == y).float().mean().item() for x, y in data]
    return float(np.mean(hits))


def main(epochs=5):
    torch.manual_seed(61)
    np.random.seed(61)
    data = recordings()
    encoder, readout = Encoder(), Readout(24, 2)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05)
    for epoch in range(epochs):
        for x, y in data:
            logits = readout(encoder(x))
            loss = nn.functional.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"{epoch} {loss.item():.4f} {accuracy(encoder, readout, data):.3f}")


if __name__ == "__main__":
    main()
