import torch
from torch import nn

torch.manual_seed(86)

SITES = torch.tensor([[0.0, 0.0], [4.0, 1.0], [1.0, 5.0]])


class Dispatcher(nn.Module):
    """Chooses the depot from which an order is served."""

    def __init__(self, hidden=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, len(SITES)))

    def forward(self, orders):
        return torch.softmax(self.net(orders), dim=1)


def distances(orders):
    return torch.cdist(orders, SITES)


def serve(weights, orders):
    depot = torch.multinomial(weights, 1)
    return distances(orders).gather(1, depot).squeeze(1)


def best_share(weights, orders):
    return weights.argmax(1).eq(distances(orders).argmin(1)).float().mean().item()


dispatcher = Dispatcher()
optimizer = torch.optim.Adam(dispatcher.parameters(), lr=0.02)
smoothed = None
for n in range(60):
    orders = torch.rand(64, 2) * 5
    weights = dispatcher(orders)
    cost = serve(weights, orders).mean()
    smoothed = cost.item() if smoothed is None else 0.9 * smoothed + 0.1 * cost.item()
    optimizer.zero_grad()
    cost.backward()
    optimizer.step()
    if n % 20 == 0:
        print(f"{n:2d} cost {cost.item():.3f} smoothed {smoothed:.3f} best depot {best_share(weights, orders):.2f}")
