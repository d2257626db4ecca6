from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel


@dataclass
class Log:
    train: list = field(default_factory=list)
    valid: list = field(default_factory=list)
    best: float = float("inf")
    state: dict = None

    def keep(self, value, model):
        self.valid.append(value)
        if value < self.best:
            self.best = value
            self.state = {k: v.detach().clone() for k, v in model.state_dict().items()}


class Trainer:
    def __init__(self, model, data, valid, accumulate=4, size=8):
        self.model, self.data, self.valid = model, data, valid
        self.accumulate, self.size = accumulate, size
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        self.average = AveragedModel(model)
        self.log = Log()
        self.weights = torch.ones(len(data[1]))

    def batches(self):
        chosen = torch.multinomial(self.weights, len(self.weights), replacement=True)
        yield from chosen.split(self.size)

    def epoch(self):
        self.model.train()
        running = 0.0
        for n, idx in enumerate(self.batches(), 1):
            out = self.model(self.data[0][idx]).squeeze(1)
            each = (out - self.data[1][idx]).abs()
            self.weights[idx] = each.detach() + 0.1
            loss = each.mean() / self.accumulate
            loss.backward()
            running += loss.item() * self.accumulate
            if n % self.accumulate == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
                self.average.update_parameters(self.model)
        self.log.train.append(running / n)

    @torch.inference_mode()
    def validate(self):
        self.model.eval()
        gap = (self.average(self.valid[0]).squeeze(1) - self.valid[1]).numpy()
        self.log.keep(float(np.sqrt(np.mean(gap ** 2))), self.model)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.epoch()
            self.validate()
            print(epoch, round(self.log.train[-1], 4), round(self.log.valid[-1], 4))
        self.model.load_state_dict(self.log.state)


def houses(n):
    x = torch.randn(n, 5)
    return x, x[:, 0] * 2 + torch.relu(x[:, 1]) - x[:, 2] * x[:, 3]


if __name__ == "__main__":
    torch.manual_seed(41)
    model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
    Trainer(model, houses(256), houses(64)).fit(5)
