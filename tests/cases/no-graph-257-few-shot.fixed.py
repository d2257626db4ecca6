import torch
from torch import nn
from torch.func import functional_call
import torch.nn.functional as F


class MetaLearner:
    def __init__(self, model, inner_lr=0.1, outer_lr=0.005):
        self.model = model
        self.inner_lr = inner_lr
        self.optimizer = torch.optim.Adam(model.parameters(), lr=outer_lr)

    def start(self):
        return dict(self.model.named_parameters())

    def predict(self, weights, x):
        return functional_call(self.model, weights, (x,))

    def adapt(self, weights, x, y):
        loss = F.mse_loss(self.predict(weights, x), y)
        grads = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        return {k: w - self.inner_lr * g for (k, w), g in zip(weights.items(), grads)}

    def meta_step(self, tasks):
        self.optimizer.zero_grad()
        losses = []
        for support, query in tasks:
            weights = self.adapt(self.start(), *support)
            losses.append(F.mse_loss(self.predict(weights, query[0]), query[1]))
        total = torch.stack(losses).mean()
        total.backward()
        self.optimizer.step()
        return total.item()


def waves(count, shots=10):
    for _ in range(count):
        height, shift = 1 + 2 * torch.rand(()), 3 * torch.rand(())
        x = torch.rand(2, shots, 1) * 6 - 3
        y = height * torch.sin(x + shift)
        yield (x[0], y[0]), (x[1], y[1])


def main():
    torch.manual_seed(74)
    model = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
    learner = MetaLearner(model)
    for n in range(30):
        loss = learner.meta_step(waves(4))
        if n % 10 == 0:
            print(n, round(loss, 4))


main()
