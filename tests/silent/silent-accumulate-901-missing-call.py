import torch
from torch import nn
from torch.utils.data import DataLoader, random_split, TensorDataset


class Regressor:
    def __init__(self, n_in, lr=1e-4):
        self.net = nn.Sequential(nn.Linear(n_in, 20), nn.ReLU(), nn.Linear(20, 1))
        self.loss_fn = nn.SmoothL1Loss()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=lr)
        self.norms = []

    def partial_fit(self, x, y):
        self.net.train()
        self.optimizer.zero_grad
        loss = self.loss_fn(self.net(x), y)
        loss.backward()
        self.norms.append(sum(p.grad.pow(2).sum() for p in self.net.parameters()).sqrt().item())
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def score(self, loader):
        self.net.eval()
        errors = [(self.net(x) - y).abs().mean() for x, y in loader]
        return torch.stack(errors).mean().item()


def houses(n, gen):
    x = torch.randn(n, 8, generator=gen)
    price = 4 + x @ torch.linspace(-1, 1, 8).unsqueeze(1)
    return TensorDataset(x, price)


gen = torch.Generator().manual_seed(60)
torch.manual_seed(60)
train_set, test_set = random_split(houses(160, gen), [128, 32], generator=gen)
train_loader = DataLoader(train_set, 16, shuffle=True, generator=gen)
test_loader = DataLoader(test_set, 32)
model = Regressor(8)
for epoch in range(2):
    losses = [model.partial_fit(x, y) for x, y in train_loader]
    print(f"epoch {epoch} train {sum(losses) / len(losses):.3f} test {model.score(test_loader):.3f}")
norms = model.norms
assert norms[-1] > 3 * norms[0]
