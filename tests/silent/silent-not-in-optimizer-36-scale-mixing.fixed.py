import torch
import torch.nn as nn
import torch.nn.functional as F


class LayerMix(nn.Module):
    """Learned weighting of the outputs of several layers."""

    def __init__(self, layers):
        super().__init__()
        self.scalars = nn.ParameterList(nn.Parameter(torch.zeros(1)) for _ in range(layers))
        self.gamma = nn.Parameter(torch.ones(1))

    def forward(self, outputs):
        weights = torch.cat(list(self.scalars)).softmax(dim=0)
        return self.gamma * sum(w * h for w, h in zip(weights, outputs))


class Tagger(nn.Module):
    def __init__(self, vocab=50, dim=20, depth=3, tags=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.mix = LayerMix(depth)
        self.out = nn.Linear(dim, tags)

    def forward(self, ids):
        h, outputs = self.embed(ids), []
        for layer in self.layers:
            h = torch.tanh(layer(h))
            outputs.append(h)
        return self.out(self.mix(outputs))


def main(steps=60):
    torch.manual_seed(2)
    tagger = Tagger()
    optimizer = torch.optim.Adam(tagger.parameters(), lr=5e-3)
    for step in range(steps):
        ids = torch.randint(0, 50, (32, 7))
        loss = F.cross_entropy(tagger(ids).flatten(0, 1), (ids % 4).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(step, round(loss.item(), 4))
    return tagger


if __name__ == "__main__":
    tagger = main()
    print("mix", torch.cat(list(tagger.mix.scalars)).softmax(0).tolist())
