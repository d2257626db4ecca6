import torch
from torch import nn


class SlotEncoder(nn.Module):
    """Averages the points that fall into each slot."""

    def __init__(self, slots, dim):
        super().__init__()
        self.slots = slots
        self.assign = nn.Linear(2, slots)
        self.value = nn.Linear(2, dim)

    def forward(self, points, present):
        share = torch.relu(self.assign(points)) * present.unsqueeze(-1)
        total = torch.einsum("bns,bnd->bsd", share, self.value(points))
        count = share.sum(dim=1).unsqueeze(-1)
        return torch.where(count > 0, total / count.clamp(min=1e-6), torch.zeros_like(total))


class ShapeNet(nn.Module):
    def __init__(self, slots=5, dim=8):
        super().__init__()
        self.slots = SlotEncoder(slots, dim)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(slots * dim, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, points, present):
        return self.head(self.slots(points, present))


def clouds(n, step):
    label = torch.randint(0, 2, (n,))
    points = torch.randn(n, 10, 2) * (1 + label[:, None, None])
    present = (torch.rand(n, 10) < 0.8).float()
    if step == 4:
        present[0] = 0.0
    return points, present, label


def main(steps=8):
    torch.manual_seed(140)
    net = ShapeNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    losses = []
    for step in range(steps):
        points, present, label = clouds(12, step)
        loss = nn.functional.cross_entropy(net(points, present), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print([round(v, 3) for v in losses])
    return net


net = main()
assert not any(p.isnan().any() for p in net.parameters())
