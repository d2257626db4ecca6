import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(29)
TASKS = {"mood": 3, "topic": 5}


class MultiTask(nn.Module):
    def __init__(self, features=10, hidden=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Dropout(0.1))
        self.heads = nn.ModuleDict({name: nn.Linear(hidden, classes) for name, classes in TASKS.items()})

    def forward(self, x):
        h = self.trunk(x)
        return {name: head(h) for name, head in self.heads.items()}


class Dataset:
    def __init__(self):
        self.maps = {name: torch.randn(10, classes) for name, classes in TASKS.items()}

    def batch(self, n=40):
        x = torch.randn(n, 10)
        return x, {name: (x @ m).argmax(dim=1) for name, m in self.maps.items()}


data = Dataset()
model = MultiTask()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(80):
    x, labels = data.batch()
    outputs = model(x)
    losses = {name: F.cross_entropy(outputs[name], labels[name]) for name in TASKS}
    loss = sum(losses.values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, {name: round(value.item(), 3) for name, value in losses.items()})
