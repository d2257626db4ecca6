import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DoseModel(nn.Module):
    def __init__(self, n_features, typical=120.0):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(n_features, 16), nn.SiLU(), nn.Linear(16, 16), nn.SiLU())
        self.dose = nn.Linear(16, 1)
        nn.init.constant_(self.dose.bias, typical)

    def forward(self, x):
        h = self.encode(x)
        return torch.sigmoid(0.01 * self.dose(h))


def simulate(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 6, generator=g)
    y = torch.sigmoid(x[:, :1] - 0.5 * x[:, 1:2])
    return TensorDataset(x, y)


def run_epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    losses = []
    with torch.set_grad_enabled(optimizer is not None):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            losses.append(loss.item())
    return sum(losses) / len(losses)


torch.manual_seed(8)
model = DoseModel(6)
train_loader = DataLoader(simulate(64, 0), batch_size=16, shuffle=True)
valid_loader = DataLoader(simulate(32, 1), batch_size=32)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
history = []
for epoch in range(3):
    history.append((run_epoch(model, train_loader, optimizer), run_epoch(model, valid_loader)))
    print("epoch", epoch, *(f"{v:.4f}" for v in history[-1]))
largest = max(p.grad.abs().max().item() for p in model.parameters())
assert largest > 0.0
