import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap


class RiskNet(nn.Module):
    def __init__(self, measures=11, width=16):
        super().__init__()
        self.first = nn.Linear(measures, width)
        self.second = nn.Linear(width, 2)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


def bounded(grads, limit):
    size = torch.stack([g.pow(2).sum() for g in grads.values()]).sum().sqrt().item()
    factor = min(1.0, limit / (size + 1e-6))
    return {name: factor * g for name, g in grads.items()}


class NoisyTrainer:
    def __init__(self, model, limit=0.5, noise=0.3, lr=0.2):
        self.model, self.limit, self.noise = model, limit, noise
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)

    def patient_loss(self, weights, x, y):
        logits = functional_call(self.model, weights, (x.unsqueeze(0),))
        return F.cross_entropy(logits, y.unsqueeze(0))

    def patient_grad(self, weights, x, y):
        return bounded(grad(self.patient_loss)(weights, x, y), self.limit)

    def step(self, x, y):
        weights = {name: p.detach() for name, p in self.model.named_parameters()}
        grads = vmap(self.patient_grad, in_dims=(None, 0, 0))(weights, x, y)
        for name, p in self.model.named_parameters():
            noise = self.noise * self.limit * torch.randn_like(p)
            p.grad = (grads[name].sum(0) + noise) / len(x)
        self.optimizer.step()


def patients(count):
    x = torch.randn(count, 11)
    return x, (x[:, 0] - 0.5 * x[:, 3] > 0).long()


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(13)
    model = RiskNet()
    trainer = NoisyTrainer(model)
    test = patients(200)
    for round_index in range(10):
        trainer.step(*patients(64))
    print(f"accuracy {accuracy(model, *test):.3f}")
