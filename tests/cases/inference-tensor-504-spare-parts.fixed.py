import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(127)


class PartEncoder(nn.Module):
    def __init__(self, n_in=10, width=20):
        super().__init__()
        self.inner = nn.Linear(n_in, width)
        self.outer = nn.Linear(width, width)

    def forward(self, x):
        return self.outer(torch.relu(self.inner(x)))


class PriceModel(nn.Module):
    def __init__(self, encoder, width=20):
        super().__init__()
        self.encoder = encoder
        self.price = nn.Linear(width, 1)

    def forward(self, x):
        return self.price(self.encoder(x)).squeeze(1)


def published_state():
    generator = torch.Generator().manual_seed(5)
    shapes = {"inner.weight": (20, 10), "inner.bias": (20,), "outer.weight": (20, 20), "outer.bias": (20,)}
    return {name: 0.2 * torch.randn(shape, generator=generator) for name, shape in shapes.items()}


@torch.no_grad()
def open_encoder(check=True):
    encoder = PartEncoder()
    encoder.load_state_dict(published_state())
    if check:
        sample = encoder(torch.ones(1, 10))
        print(f"encoder ready, response to ones {sample.norm().item():.3f}")
    return encoder


def orders(n):
    x = torch.rand(n, 10)
    return x, 2 * x[:, 0] + x[:, 1] * x[:, 2] + 0.05 * torch.randn(n)


def fine_tune(steps=50):
    model = PriceModel(open_encoder())
    optimizer = torch.optim.AdamW([
        {"params": model.encoder.parameters(), "lr": 1e-3},
        {"params": model.price.parameters(), "lr": 1e-2},
    ])
    for step in range(steps):
        x, price = orders(32)
        loss = F.mse_loss(model(x), price)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step:2d}  loss {loss.item():.4f}")


fine_tune()
