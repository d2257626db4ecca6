import torch
import torch.nn as nn
import torch.nn.functional as F


class Lookahead:
    def __init__(self, optimizer, k=5, alpha=0.5):
        self.optimizer, self.k, self.alpha, self.count = optimizer, k, alpha, 0
        self.fast = [p for g in optimizer.param_groups for p in g["params"]]
        self.slow = [p.detach().clone() for p in self.fast]

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self):
        self.optimizer.step()
        self.count += 1
        if self.count % self.k == 0:
            with torch.no_grad():
                for slow, fast in zip(self.slow, self.fast):
                    slow.add_(fast - slow, alpha=self.alpha)
                    fast.copy_(slow)


torch.manual_seed(106)
net = nn.Sequential(nn.Linear(5, 24), nn.GELU(), nn.Linear(24, 1))
optimizer = Lookahead(torch.optim.Adam(net.parameters(), lr=1e-2))
for step in range(50):
    x = torch.randn(32, 5)
    loss = F.mse_loss(net(x), x.abs().sum(dim=1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
