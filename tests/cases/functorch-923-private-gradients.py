import math

import torch
from torch import nn
from torch.func import functional_call, grad, vmap


class Log:
    def __init__(self):
        self.values = []

    def add(self, value):
        self.values.append(value)

    def mean(self):
        return sum(self.values) / max(1, len(self.values))


class PrivateTrainer:
    def __init__(self, model, lr, clip, noise):
        self.model, self.clip, self.noise = model, clip, noise
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.log = Log()

    def sample_loss(self, params, x, y):
        logits = functional_call(self.model, params, (x.unsqueeze(0),))
        loss = nn.functional.cross_entropy(logits, y.unsqueeze(0))
        self.log.add(loss.item())
        return loss

    def clipped(self, grads, n):
        norms = torch.stack([g.reshape(n, -1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        factor = (self.clip / (norms + 1e-6)).clamp(max=1.0)
        return {k: torch.einsum("n,n...->...", factor, g) for k, g in grads.items()}

    def train_batch(self, x, y):
        params = {k: v.detach() for k, v in self.model.named_parameters()}
        per_sample = vmap(grad(self.sample_loss), in_dims=(None, 0, 0))(params, x, y)
        summed = self.clipped(per_sample, len(x))
        for name, param in self.model.named_parameters():
            noise = torch.randn_like(param) * self.noise * self.clip
            param.grad = (summed[name] + noise) / len(x)
        self.optimizer.step()
        self.optimizer.zero_grad()


def epsilon(steps, rate, sigma, delta=1e-5):
    return rate * math.sqrt(2 * steps * math.log(1 / delta)) / sigma


def main():
    torch.manual_seed(13)
    model = nn.Sequential(nn.Linear(5, 10), nn.Tanh(), nn.Linear(10, 3))
    trainer = PrivateTrainer(model, lr=0.2, clip=1.0, noise=0.8)
    x = torch.randn(48, 5)
    y = x[:, :3].argmax(1)
    for epoch in range(2):
        for index in torch.randperm(len(x)).split(12):
            trainer.train_batch(x[index], y[index])
        print(f"epoch {epoch} loss {trainer.log.mean():.3f}")
    print(f"epsilon {epsilon(8, 12 / 48, 0.8):.2f}")


main()
