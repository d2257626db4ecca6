import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        self.history = []

    def forward_loss(self, x, y):
        out = self.model(x)
        return nn.functional.cross_entropy(out, y), (out.argmax(1) == y).float().mean()

    def fit(self, batches):
        for x, y in batches:
            self.optimizer.zero_grad()
            loss, accuracy = self.forward_loss(x, y)
            loss.backward()
            self.history.append((loss.item(), accuracy.item()))
            self.optimizer.step()


torch.manual_seed(0)
model = nn.Linear(5, 3)
weight = model.weight.detach().clone()
data = [(torch.randn(16, 5), torch.randint(0, 3, (16,))) for _ in range(8)]
trainer = Trainer(model)
trainer.fit(data)
print(f"{trainer.history[0][0]:.3f} -> {trainer.history[-1][0]:.3f}")
assert not torch.equal(weight, model.weight)
