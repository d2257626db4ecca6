import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import weight_norm

torch.manual_seed(48)


class Causal(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.convs = nn.ModuleList(weight_norm(nn.Conv1d(1 if i == 0 else width, width, 3, dilation=2 ** i)) for i in range(3))
        self.out = nn.Conv1d(width, 1, 1)

    def forward(self, x):
        for i, conv in enumerate(self.convs):
            x = F.relu(conv(F.pad(x, (2 * 2 ** i, 0))))
        return self.out(x)


net = Causal()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(30):
    x = torch.sin(torch.rand(8, 1, 1) * torch.arange(41))
    loss = F.mse_loss(net(x[..., :-1]), x[..., 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for conv in net.convs:
    parametrize.remove_parametrizations(conv, "weight")
print(loss.item())
