import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(101)
trunk = nn.Linear(6, 16)
heads = nn.ModuleList([nn.Linear(16, 1), nn.Linear(16, 1)])
optimizer = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], lr=5e-3)


def project(a, b):
    dot = (a * b).sum()
    return a - dot / b.pow(2).sum() * b if dot < 0 else a


for step in range(40):
    x = torch.randn(32, 6)
    targets = [x[:, :1] + x[:, 1:2], x[:, :1] - x[:, 1:2]]
    optimizer.zero_grad()
    flats = []
    for head, y in zip(heads, targets):
        loss = F.mse_loss(head(torch.relu(trunk(x))), y)
        own = list(trunk.parameters())
        grads = torch.autograd.grad(loss, own + list(head.parameters()))
        flats.append(torch.cat([g.flatten() for g in grads[:len(own)]]))
        for p, g in zip(head.parameters(), grads[len(own):]):
            p.grad = g
    merged = project(flats[0], flats[1]) + project(flats[1], flats[0])
    offset = 0
    for p in trunk.parameters():
        p.grad = merged[offset:offset + p.numel()].view_as(p).clone()
        offset += p.numel()
    optimizer.step()
print(loss.item())
