import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, inputs=5, hidden=32):
        super().__init__()
        self.a = nn.Linear(inputs, hidden)
        self.b = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.b(F.gelu(self.a(x))).squeeze(-1)


class Trainer:
    def __init__(self, net, decay=0.9, lr=5e-3):
        self.net = net
        self.shadow = copy.deepcopy(net)
        self.decay = decay
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=lr)

    def swap(self):
        self.net, self.shadow = self.shadow, self.net

    @torch.no_grad()
    def average(self):
        for s, p in zip(self.shadow.parameters(), self.net.parameters()):
            s.lerp_(p, 1 - self.decay)

    @torch.no_grad()
    def validate(self, x, y):
        self.swap()
        score = F.mse_loss(self.net(x), y).item()
        return score

    def epoch(self, batches):
        for x, y in batches:
            loss = F.mse_loss(self.net(x), y)
            self.net.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.average()
        return loss.item()


def tides(n=64):
    x = torch.randn(n, 5)
    return x, torch.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2]


torch.manual_seed(150)
trainer = Trainer(Net())
for epoch in range(4):
    loss = trainer.epoch([tides() for _ in range(10)])
    print(epoch, round(loss, 4), round(trainer.validate(*tides(300)), 4))
loss = trainer.epoch([tides() for _ in range(10)])
print("final", round(loss, 4))
