import torch
from torch import nn
import torch.nn.functional as F


class TwoHeads(nn.Module):
    def __init__(self, inputs=10, kinds=3):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, 24), nn.ReLU())
        self.size = nn.Linear(24, 1)
        self.kind = nn.Linear(24, kinds)

    def forward(self, x):
        h = self.trunk(x)
        return self.size(h).squeeze(1), self.kind(h)


def fish(n):
    x = torch.randn(n, 10)
    return x, x[:, 0] * 2 + x[:, 1], (x[:, 2] > 0).long() + (x[:, 3] > 0).long()


def step_loss(model, batch, balance=(1.0, 0.5)):
    x, size, kind = batch
    guess_size, guess_kind = model(x)
    size_loss = F.mse_loss(guess_size, size)
    kind_loss = F.cross_entropy(guess_kind, kind)
    parts = torch.stack([size_loss, kind_loss]) * torch.tensor(balance)
    hits = guess_kind.argmax(1).eq(kind).float().mean().item()
    return parts.sum(), {"size": size_loss.item(), "kind": kind_loss.item(), "hits": hits}


def main():
    torch.manual_seed(90)
    model = TwoHeads()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=30)
    for n in range(30):
        loss, log = step_loss(model, fish(48))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if n % 10 == 0:
            print(n, " ".join(f"{k} {v:.3f}" for k, v in log.items()))


main()
