import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(26)


class LoRALinear(nn.Module):
    def __init__(self, base, rank=2, alpha=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.empty(rank, base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.a.t() @ self.b.t())


net = nn.Sequential(LoRALinear(nn.Linear(6, 24)), nn.ReLU(), LoRALinear(nn.Linear(24, 3)))
trainable = [p for p in net.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=1e-2)
print(len(trainable), "trainable tensors")
for step in range(40):
    x = torch.randn(32, 6)
    loss = F.cross_entropy(net(x), x[:, :3].argmax(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
