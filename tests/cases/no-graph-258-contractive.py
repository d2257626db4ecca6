import torch
from torch import nn
from torch.autograd.functional import jacobian


class AutoEncoder(nn.Module):
    def __init__(self, inputs=6, codes=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(inputs, 16), nn.Tanh(), nn.Linear(16, codes))
        self.dec = nn.Linear(codes, inputs)

    def encode(self, x):
        return self.enc(x)

    def forward(self, x):
        return self.dec(self.encode(x))


def contraction(model, rows):
    total = 0.0
    for x in rows:
        j = jacobian(model.encode, x)
        total = total + j.pow(2).sum()
    return total / len(rows)


def rebuild(model, rows):
    return (model(rows) - rows).pow(2).mean()


PHASES = [("rebuild", lambda m, r: rebuild(m, r), 40), ("contract", lambda m, r: contraction(m, r), 10)]


def main():
    torch.manual_seed(48)
    data = torch.randn(200, 3) @ torch.randn(3, 6)
    model = AutoEncoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for name, objective, steps in PHASES:
        for n in range(steps):
            rows = data[torch.randint(0, 200, (16,))]
            loss = objective(model, rows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            kept = rebuild(model, data).item()
        print(f"{name}: {loss.item():.4f}, rebuild {kept:.4f}")


main()
