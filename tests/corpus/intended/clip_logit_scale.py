import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(46)


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.text = nn.Linear(12, 8), nn.EmbeddingBag(20, 8)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, x, ids):
        a, b = F.normalize(self.image(x), dim=1), F.normalize(self.text(ids), dim=1)
        return self.logit_scale.exp() * a @ b.t()


model = Clip()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
table = torch.randn(20, 12)
for step in range(40):
    ids = torch.randint(0, 20, (24, 3))
    logits = model(table[ids].mean(1), ids)
    target = torch.arange(24)
    loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        model.logit_scale.clamp_(0, math.log(100))
print(loss.item(), model.logit_scale.exp().item())
