import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

CFG = dict(epochs=2, batch=8, accumulate=4, lr=0.01, seed=33)


class Melt(Dataset):
    def __init__(self, days=128):
        self.x = torch.randn(days, 6)
        self.y = self.x[:, 0] * 2 - self.x[:, 3]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, day):
        return {"weather": self.x[day], "melt": self.y[day]}


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, weather):
        return self.layers(weather).flatten()


def train(model, loader, cfg):
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"])
    criterion = nn.MSELoss()
    optimizer.zero_grad()
    norms = []
    for epoch in range(cfg["epochs"]):
        for i, batch in enumerate(loader):
            loss = criterion(model(batch["weather"]), batch["melt"]) / cfg["accumulate"]
            loss.backward()
            if (i + 1) % cfg["accumulate"] == 0:
                before = torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item()
                optimizer.step()
                norms.append(before)
                print(f"epoch {epoch} batch {i} loss {loss.item():.4f} norm {before:.3f}")
    return norms, [p.grad for p in model.parameters()]


if __name__ == "__main__":
    torch.manual_seed(CFG["seed"])
    loader = DataLoader(Melt(), batch_size=CFG["batch"], shuffle=True)
    norms, left = train(Regressor(), loader, CFG)
    assert all(grad is not None for grad in left)
