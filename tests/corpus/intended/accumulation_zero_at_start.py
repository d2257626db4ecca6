import torch
import torch.nn as nn
import torch.nn.functional as F


class Trainer:
    def __init__(self, model, micro=2, batch=16):
        self.model, self.micro, self.batch = model, micro, batch
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def step(self, x, y):
        self.optimizer.zero_grad()
        total = 0.0
        for xs, ys in zip(x.split(self.micro), y.split(self.micro)):
            loss = F.cross_entropy(self.model(xs), ys, reduction="sum") / self.batch
            loss.backward()
            total += loss.item()
        self.optimizer.step()
        return total


torch.manual_seed(16)
trainer = Trainer(nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3)))
for step in range(30):
    x = torch.randn(16, 5)
    value = trainer.step(x, x[:, :3].argmax(dim=1))
    if step % 10 == 0:
        print(step, round(value, 4))
