import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import parametrize


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).transpose(-1, -2)


torch.manual_seed(49)
layer = nn.Linear(5, 5, bias=False)
parametrize.register_parametrization(layer, "weight", Symmetric())
truth = torch.randn(5, 5)
truth = truth + truth.t()
optimizer = torch.optim.Adam(layer.parameters(), lr=5e-2)
for step in range(60):
    x = torch.randn(32, 5)
    loss = F.mse_loss(layer(x), x @ truth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), torch.allclose(layer.weight, layer.weight.t()))
