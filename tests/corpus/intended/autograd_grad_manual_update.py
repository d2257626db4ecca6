import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(71)
net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
params = list(net.parameters())
velocity = [torch.zeros_like(p) for p in params]
for step in range(60):
    x = torch.randn(32, 3)
    loss = F.mse_loss(net(x), x.sum(dim=1, keepdim=True))
    grads = torch.autograd.grad(loss, params)
    with torch.no_grad():
        for p, v, g in zip(params, velocity, grads):
            v.mul_(0.9).add_(g)
            p.sub_(0.02 * v)
print(loss.item())
