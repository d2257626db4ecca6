import copy

import torch
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR


class Rollback:
    def __init__(self, model, make_batch, lr, factor):
        self.model = model
        self.make_batch = make_batch
        self.factor = factor
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)
        self.schedule = ExponentialLR(self.optimizer, 0.9)
        self.best, self.best_loss = copy.deepcopy(model), float("inf")
        self.rolled_back = 0

    def check(self, loss):
        if loss < self.best_loss:
            self.best_loss = loss
            self.best.load_state_dict(self.model.state_dict())
        elif loss > self.factor * self.best_loss:
            self.model = copy.deepcopy(self.best)
            self.rolled_back += 1

    def step(self):
        x, y = self.make_batch()
        self.optimizer.zero_grad()
        out = self.model(x)
        loss = (out - y).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def run(self, rounds, per_round=4):
        for r in range(rounds):
            mean = sum(self.step() for _ in range(per_round)) / per_round
            self.check(mean)
            self.schedule.step()
            print(f"round {r}: {mean:.4f} (best {self.best_loss:.4f}, back {self.rolled_back})")


class Sampler:
    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        noise = 3.0 if 9 <= self.calls <= 12 else 0.05
        x = torch.randn(24, 5)
        return x, x[:, :1] + noise * torch.randn(24, 1)


torch.manual_seed(9)
net = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 1))
trainer = Rollback(net, Sampler(), lr=0.05, factor=1.5)
trainer.run(4)
after = trainer.model
trainer.best.load_state_dict(after.state_dict())
for _ in range(8):
    trainer.step()
assert trainer.rolled_back == 1
assert torch.equal(trainer.model[0].weight, trainer.best[0].weight)
