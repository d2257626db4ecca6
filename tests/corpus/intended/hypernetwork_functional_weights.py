import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call


class Hyper(nn.Module):
    """Makes the weights of a small network from a task vector."""

    def __init__(self, main, n_tasks, dim=6):
        super().__init__()
        self.shapes = {name: p.shape for name, p in main.named_parameters()}
        self.task = nn.Embedding(n_tasks, dim)
        self.body = nn.Sequential(nn.Linear(dim, 24), nn.ReLU())
        self.outs = nn.ModuleDict({name.replace(".", "_"): nn.Linear(24, shape.numel()) for name, shape in self.shapes.items()})

    def forward(self, index):
        h = self.body(self.task(index))
        return {name: 0.3 * self.outs[name.replace(".", "_")](h).view(shape) for name, shape in self.shapes.items()}


def task_batch(index, n=20):
    x = torch.rand(n, 1) * 2 - 1
    return x, torch.sin(3 * x + index.item())


def main():
    torch.manual_seed(3)
    template = nn.Sequential(nn.Linear(1, 10), nn.Tanh(), nn.Linear(10, 1))
    hyper = Hyper(template, n_tasks=4)
    optimizer = torch.optim.Adam(hyper.parameters(), lr=3e-3)
    for step in range(30):
        index = torch.tensor(step % 4)
        x, y = task_batch(index)
        weights = hyper(index)
        loss = F.mse_loss(functional_call(template, weights, (x,)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(step, f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
