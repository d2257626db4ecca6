import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(23)


class Recommender(nn.Module):
    def __init__(self, users=200, items=100, dim=8):
        super().__init__()
        self.user = nn.Embedding(users, dim, sparse=True)
        self.item = nn.Embedding(items, dim, sparse=True)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, u, i):
        return self.mlp(torch.cat([self.user(u), self.item(i)], dim=1)).squeeze(1)


model = Recommender()
sparse = torch.optim.SparseAdam([model.user.weight, model.item.weight], lr=1e-2)
dense = torch.optim.Adam(model.mlp.parameters(), lr=1e-3)
for step in range(40):
    u, i = torch.randint(0, 200, (32,)), torch.randint(0, 100, (32,))
    rating = ((u + i) % 5).float()
    loss = F.mse_loss(model(u, i), rating)
    sparse.zero_grad()
    dense.zero_grad()
    loss.backward()
    sparse.step()
    dense.step()
print(loss.item())
