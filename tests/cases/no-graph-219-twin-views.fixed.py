import torch
from torch import nn
import torch.nn.functional as F


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


def similarity(p, z):
    return F.cosine_similarity(p, z, dim=-1).mean()


class Twins(nn.Module):
    def __init__(self, inputs=20, width=16):
        super().__init__()
        self.encode = mlp(inputs, 32, width)
        self.project = mlp(width, 32, width)
        self.predict = mlp(width, 8, width)

    def forward(self, a, b):
        za = self.project(self.encode(a))
        zb = self.project(self.encode(b))
        pa, pb = self.predict(za), self.predict(zb)
        spread = F.normalize(za, dim=-1).std(0).mean().item()
        loss = -0.5 * (similarity(pa, zb.detach()) + similarity(pb, za.detach()))
        return loss, spread


def augment(x):
    return x + 0.2 * torch.randn_like(x), x * (torch.rand_like(x) > 0.15)


def main(epochs=4):
    torch.manual_seed(27)
    centres = torch.randn(5, 20)
    kind = torch.randint(0, 5, (160,))
    x = centres[kind] + 0.3 * torch.randn(160, 20)
    model = Twins()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    for epoch in range(epochs):
        for idx in torch.randperm(160).split(32):
            loss, spread = model(*augment(x[idx]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f} spread {spread:.4f}")


main()
