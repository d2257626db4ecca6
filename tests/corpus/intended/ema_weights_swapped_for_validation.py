import torch
import torch.nn as nn
import torch.nn.functional as F
from contextlib import contextmanager


class Averager:
    def __init__(self, model, decay=0.9):
        self.model, self.decay = model, decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}

    @torch.no_grad()
    def update(self):
        for n, p in self.model.named_parameters():
            self.shadow[n].mul_(self.decay).add_(p, alpha=1 - self.decay)

    @contextmanager
    def applied(self):
        backup = {n: p.detach().clone() for n, p in self.model.named_parameters()}
        with torch.no_grad():
            for n, p in self.model.named_parameters():
                p.copy_(self.shadow[n])
        try:
            yield
        finally:
            with torch.no_grad():
                for n, p in self.model.named_parameters():
                    p.copy_(backup[n])


torch.manual_seed(108)
model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
averager = Averager(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    x = torch.randn(32, 4)
    loss = F.mse_loss(model(x), x[:, :1] * x[:, 1:2])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    averager.update()
    if step % 20 == 19:
        with averager.applied(), torch.no_grad():
            x = torch.randn(200, 4)
            print(step, loss.item(), F.mse_loss(model(x), x[:, :1] * x[:, 1:2]).item())
