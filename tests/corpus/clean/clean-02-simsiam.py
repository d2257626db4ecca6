import torch
from torch import nn
import torch.nn.functional as F


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h, bias=False), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


class Siamese(nn.Module):
    def __init__(self, inputs=16, width=12):
        super().__init__()
        self.encoder = mlp(inputs, 24, width)
        self.predictor = mlp(width, 6, width)

    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        pa, pb = self.predictor(za), self.predictor(zb)
        loss = -(F.cosine_similarity(pa, zb.detach()).mean() + F.cosine_similarity(pb, za.detach()).mean()) / 2
        return loss, F.normalize(za.detach(), dim=1)


def views(x):
    return x + 0.2 * torch.randn_like(x), x * (torch.rand_like(x) > 0.1).float()


@torch.no_grad()
def knn_accuracy(model, x, y):
    model.eval()
    z = F.normalize(model.encoder(x), dim=1)
    near = (z @ z.t()).fill_diagonal_(-2).topk(3, dim=1).indices
    guess = y[near].mode(dim=1).values
    model.train()
    return (guess == y).float().mean().item()


def main():
    torch.manual_seed(5)
    centres = torch.randn(4, 16) * 1.5
    y = torch.randint(0, 4, (192,))
    x = centres[y] + 0.5 * torch.randn(192, 16)
    model = Siamese()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    history = []
    for epoch in range(5):
        for idx in torch.randperm(192).split(48):
            loss, z = model(*views(x[idx]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history.append({"loss": loss.item(), "spread": z.std(0).mean().item()})
        print(epoch, {k: round(v, 4) for k, v in history[-1].items()}, round(knn_accuracy(model, x, y), 3))


main()
