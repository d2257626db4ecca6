import torch
import torch.nn as nn
import torch.nn.functional as F


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99)):
        super().__init__(params, dict(lr=lr, betas=betas))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.add_((b1 * m + (1 - b1) * p.grad).sign(), alpha=-group["lr"])
                m.lerp_(p.grad, 1 - b2)
        return loss


torch.manual_seed(70)
net = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = Lion(net.parameters())
for step in range(60):
    x = torch.randn(32, 4)
    loss = F.mse_loss(net(x), x[:, :1] + x[:, 1:2])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
