import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(163)
ITEMS = 30


class BasketModel(nn.Module):
    """Predicts the time at the till: every item adds its own share."""

    def __init__(self, width=8):
        super().__init__()
        self.item = nn.Embedding(ITEMS, width)
        self.cost = nn.Sequential(nn.Linear(width + 1, 16), nn.ReLU(), nn.Linear(16, 1))
        self.base = nn.Parameter(torch.tensor(1.0))

    def forward(self, items, amounts, basket, n_baskets):
        features = torch.cat([self.item(items), amounts[:, None]], dim=1)
        seconds = F.softplus(self.cost(features)).squeeze(1)
        return self.base + per_basket(seconds, basket, n_baskets)


def per_basket(values, basket, n_baskets):
    return values.new_zeros(n_baskets).index_add(0, basket, values)


def shop(n_baskets, true_cost):
    sizes = torch.randint(1, 9, (n_baskets,))
    basket = torch.repeat_interleave(torch.arange(n_baskets), sizes)
    items = torch.randint(0, ITEMS, (len(basket),))
    amounts = torch.randint(1, 4, (len(basket),)).float()
    time = 2.0 + per_basket(true_cost[items] * amounts.sqrt(), basket, n_baskets)
    return items, amounts, basket, time.float()


def epochs(n, true_cost, batches=8):
    for epoch in range(n):
        for _ in range(batches):
            yield epoch, shop(24, true_cost)


true_cost = torch.rand(ITEMS) * 2
model = BasketModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
history = {}
for epoch, (items, amounts, basket, time) in epochs(5, true_cost):
    predicted = model(items, amounts, basket, len(time))
    loss = F.smooth_l1_loss(predicted, time)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.setdefault(epoch, []).append(loss.item())
for epoch, losses in history.items():
    print(f"epoch {epoch}  {sum(losses) / len(losses):.3f}")
