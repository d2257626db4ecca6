import torch
from torch import nn
import torch.nn.functional as F


class GatedClassifier(nn.Module):
    def __init__(self, genes=30, width=12):
        super().__init__()
        self.gates = nn.Parameter(torch.zeros(genes))
        self.net = nn.Sequential(nn.Linear(genes, width), nn.ReLU(), nn.Linear(width, 2))

    def draw(self, rows):
        keep = torch.sigmoid(self.gates).expand(rows, -1)
        hard = torch.distributions.Bernoulli(keep).sample()
        return hard + keep - keep.detach()

    def forward(self, x):
        return self.net(x * self.draw(len(x)))


def cohort(n, genes=30):
    x = torch.randn(n, genes)
    return x, (x[:, 0] + x[:, 3] - x[:, 7] > 0).long()


def run(model, parameters, data, steps, lr):
    optimizer = torch.optim.Adam(parameters, lr=lr)
    x, y = data
    for _ in range(steps):
        idx = torch.randint(0, len(y), (64,))
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(80)
    data = cohort(400)
    model = GatedClassifier()
    print("weights", round(run(model, model.net.parameters(), data, 60, 0.01), 4))
    model.net.requires_grad_(False)
    print("gates", round(run(model, [model.gates], data, 60, 0.05), 4))
    kept = torch.sigmoid(model.gates.detach()).topk(5).indices.tolist()
    print("strongest genes", sorted(kept))


if __name__ == "__main__":
    main()
