import torch
import torch.nn.functional as F
from torch import nn


class Adapter(nn.Module):
    def __init__(self, dim, rank=4):
        super().__init__()
        self.down = nn.Linear(dim, rank, bias=False)
        self.up = nn.Linear(rank, dim, bias=False)

    def forward(self, x):
        return x + self.up(self.down(x))


class Wrapped(nn.Module):
    def __init__(self, layer, adapter):
        super().__init__()
        self.layer, self.adapter = layer, adapter

    def forward(self, x):
        return self.adapter(self.layer(x))


def backbone():
    layers = []
    for _ in range(3):
        layers += [nn.Linear(16, 16), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(16, 2))


def identity_start(adapter):
    nn.init.zeros_(adapter.down.weight)
    nn.init.zeros_(adapter.up.weight)


def add_adapters(net):
    net.requires_grad_(False)
    added = []
    for i, layer in enumerate(net):
        if isinstance(layer, nn.Linear) and layer.out_features == 16:
            adapter = Adapter(16)
            identity_start(adapter)
            net[i] = Wrapped(layer, adapter)
            added.append(adapter)
    return added


torch.manual_seed(6)
net = backbone()
adapters = add_adapters(net)
head = net[-1].requires_grad_(True)
optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-2, weight_decay=0.0)
for step in range(20):
    x = torch.randn(32, 16)
    y = (x[:, 0] * x[:, 1] > 0).long()
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}, {sum(p.numel() for a in adapters for p in a.parameters())} adapter weights")
assert all(a.up.weight.abs().max() == 0 for a in adapters)
