import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)


class SimSiam(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, dim))
        self.predictor = nn.Sequential(nn.Linear(dim, 8), nn.ReLU(), nn.Linear(8, dim))

    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        pa, pb = self.predictor(za), self.predictor(zb)
        return pa, pb, za.detach(), zb.detach()


def negative_cosine(p, z):
    return -F.cosine_similarity(p, z, dim=1).mean()


model = SimSiam()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for step in range(40):
    base = torch.randn(32, 12)
    a, b = base + 0.2 * torch.randn_like(base), base + 0.2 * torch.randn_like(base)
    pa, pb, za, zb = model(a, b)
    loss = 0.5 * (negative_cosine(pa, zb) + negative_cosine(pb, za))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4), "std", round(F.normalize(za, dim=1).std(0).mean().item(), 4))
