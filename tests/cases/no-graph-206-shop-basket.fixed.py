import torch
from torch import nn
import torch.nn.functional as F

ITEMS, USERS, K = 30, 40, 5


class Recommender(nn.Module):
    def __init__(self, rank=8):
        super().__init__()
        self.user = nn.Embedding(USERS, rank)
        self.item = nn.Embedding(ITEMS, rank)

    def forward(self, users):
        return self.user(users) @ self.item.weight.t()


class BasketObjective:
    def __init__(self, baskets):
        self.baskets = baskets
        self.history = []

    def pick(self, scores, k=K):
        chosen = scores.topk(k, dim=1).indices
        picked = torch.sigmoid(scores - scores.gather(1, chosen[:, -1:]).detach())
        return picked


    def __call__(self, scores, users):
        wanted = self.baskets[users]
        picked = self.pick(scores)
        missed = (wanted * (1 - picked)).sum(1)
        extra = (picked * (1 - wanted)).sum(1)
        self.history.append(missed.mean().item())
        return (missed + 0.5 * extra).mean()


def recall_at(model, baskets, k=K):
    with torch.no_grad():
        scores = model(torch.arange(USERS))
        top = scores.topk(k, dim=1)[1]
        return baskets.gather(1, top).sum().item() / baskets.sum().item()


def main():
    torch.manual_seed(8)
    taste = torch.randn(USERS, 3) @ torch.randn(3, ITEMS)
    baskets = (taste > taste.quantile(0.85, dim=1, keepdim=True)).float()
    model = Recommender()
    objective = BasketObjective(baskets)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for epoch in range(12):
        for users in torch.randperm(USERS).split(10):
            loss = objective(model(users), users)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 4 == 0:
            print(f"{epoch:2d} recall@{K} {recall_at(model, baskets):.3f} missed {objective.history[-1]:.2f}")


if __name__ == "__main__":
    main()
