import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(24)


class Bag(nn.Module):
    def __init__(self, vocab=5000, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.out = nn.Linear(dim, 2)

    def forward(self, ids):
        keep = (ids != 0).unsqueeze(-1)
        return self.out((self.embed(ids) * keep).sum(1) / keep.sum(1).clamp(min=1))


model = Bag()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for step in range(30):
    ids = torch.randint(1, 50, (16, 6))
    ids[:, 4:] = 0
    loss = F.cross_entropy(model(ids), (ids[:, 0] > 25).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), model.embed.weight[0].abs().sum().item())
