import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(33)


class Expression(nn.Module):
    def __init__(self, genes=30, types=4):
        super().__init__()
        self.first = nn.Linear(genes, 32)
        self.middle = nn.Linear(32, 32)
        self.last = nn.Linear(32, types)

    def forward(self, x):
        x = F.elu(self.first(x))
        x = F.elu(self.middle(x))
        return self.last(x)


class Monitor:
    def __init__(self, model, every=5):
        self.model, self.every, self.rows = model, every, []

    def weights(self):
        for name, module in self.model.named_children():
            yield name, module.weight

    def record(self, step, loss):
        if step % self.every == 0:
            names, weights = zip(*self.weights())
            slopes = torch.autograd.grad(loss, weights)
            self.rows.append({n: s.norm().item() for n, s in zip(names, slopes)})

    def show(self):
        for i, row in enumerate(self.rows):
            print(i * self.every, {n: round(v, 4) for n, v in row.items()})


def cells(count=64, genes=30, types=4):
    kind = torch.randint(types, (count,))
    x = torch.randn(count, genes)
    x[torch.arange(count), kind * 7] += 2.5
    return torch.log1p(x.exp()), kind


model = Expression()
monitor = Monitor(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
for step in range(20):
    x, kind = cells()
    loss = F.cross_entropy(model(x), kind, label_smoothing=0.05)
    monitor.record(step, loss)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
monitor.show()
print("final loss", round(loss.item(), 4))
