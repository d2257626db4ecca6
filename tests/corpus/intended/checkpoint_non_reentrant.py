import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(18)


class Deep(nn.Module):
    def __init__(self, dim=16, depth=4):
        super().__init__()
        self.inp = nn.Linear(5, dim)
        self.layers = nn.ModuleList(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU()) for _ in range(depth))
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        x = checkpoint(self.inp, x, use_reentrant=False)
        for layer in self.layers:
            x = x + checkpoint(layer, x, use_reentrant=False)
        return self.out(x)


model = Deep()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(25):
    x = torch.randn(32, 5)
    loss = F.mse_loss(model(x), x.prod(dim=1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
