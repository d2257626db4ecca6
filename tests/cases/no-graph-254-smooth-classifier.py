import torch
from torch import nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 24), nn.Softplus(), nn.Linear(24, 3))

    def forward(self, x):
        return self.net(x)


class SmoothTrainer:
    def __init__(self, model, lr=0.02, weight=0.1):
        self.model, self.weight = model, weight
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    def input_slope(self, x, loss):
        loss.backward(retain_graph=True)
        return x.grad.flatten(1).norm(dim=1)

    def step(self, x, y):
        x = x.clone().requires_grad_(True)
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        slope = self.input_slope(x, loss)
        penalty = self.weight * slope.pow(2).mean()
        penalty.backward()
        self.optimizer.step()
        return loss.item(), slope.mean().item()


def penguins(n):
    kind = torch.randint(0, 3, (n,))
    centre = torch.tensor([[0.0, 1, 0, -1], [1.5, 0, -1, 0], [-1, -1, 1, 1]])
    return centre[kind] + 0.5 * torch.randn(n, 4), kind


def main():
    torch.manual_seed(44)
    trainer = SmoothTrainer(Classifier())
    for n in range(60):
        loss, slope = trainer.step(*penguins(32))
        if n % 20 == 0:
            print(f"{n:2d} loss {loss:.4f} slope {slope:.4f}")
    x, y = penguins(200)
    with torch.no_grad():
        print("accuracy", trainer.model(x).argmax(1).eq(y).float().mean().item())


main()
