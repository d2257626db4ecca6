import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(43)


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 24), nn.ReLU())
        self.heads = nn.ModuleDict({"price": nn.Linear(24, 1), "kind": nn.Linear(24, 3)})

    def forward(self, x, task):
        return self.heads[task](self.trunk(x))


def task_loss(model, task):
    x = torch.randn(32, 6)
    out = model(x, task)
    if task == "price":
        return F.mse_loss(out.squeeze(1), x[:, 0] - x[:, 1])
    return F.cross_entropy(out, x[:, :3].argmax(dim=1))


model = Shared()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(40):
    task = ("price", "kind")[step % 2]
    loss = task_loss(model, task)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 < 2:
        print(step, task, loss.item())
