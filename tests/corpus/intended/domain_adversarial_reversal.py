import torch
import torch.nn as nn
import torch.nn.functional as F


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.strength * grad, None


torch.manual_seed(80)
features = nn.Sequential(nn.Linear(6, 24), nn.ReLU())
label_head, domain_head = nn.Linear(24, 2), nn.Linear(24, 2)
params = [*features.parameters(), *label_head.parameters(), *domain_head.parameters()]
optimizer = torch.optim.Adam(params, lr=3e-3)
for step in range(40):
    source, target = torch.randn(24, 6), torch.randn(24, 6) + 0.5
    y = (source[:, 0] > 0).long()
    h = features(torch.cat([source, target]))
    domain = torch.cat([torch.zeros(24), torch.ones(24)]).long()
    loss = F.cross_entropy(label_head(h[:24]), y)
    loss = loss + F.cross_entropy(domain_head(Reverse.apply(h, min(1.0, step / 20))), domain)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
