import torch
import torch.nn as nn
import torch.nn.functional as F


class Adapter(nn.Module):
    def __init__(self, dim, bottleneck=4):
        super().__init__()
        self.down = nn.Linear(dim, bottleneck)
        self.up = nn.Linear(bottleneck, dim)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, h):
        return h + self.up(F.gelu(self.down(h)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1, self.layer2 = nn.Linear(6, 16), nn.Linear(16, 16)
        self.adapter1, self.adapter2 = Adapter(16), Adapter(16)
        self.out = nn.Linear(16, 2)

    def forward(self, x):
        h = self.adapter1(torch.tanh(self.layer1(x)))
        return self.out(self.adapter2(torch.tanh(self.layer2(h))))


torch.manual_seed(27)
model = Model()
for name, p in model.named_parameters():
    p.requires_grad = "adapter" in name or name.startswith("out.")
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=5e-3)
for step in range(40):
    x = torch.randn(32, 6)
    loss = F.cross_entropy(model(x), (x[:, 0] > x[:, 1]).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
