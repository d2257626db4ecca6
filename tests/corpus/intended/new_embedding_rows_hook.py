import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(81)
OLD, NEW = 20, 5
embed = nn.Embedding(OLD + NEW, 8)
head = nn.Linear(8, 2)
head.requires_grad_(False)
mask = torch.zeros(OLD + NEW, 1)
mask[OLD:] = 1
embed.weight.register_hook(lambda grad: grad * mask)
before = embed.weight.detach().clone()
optimizer = torch.optim.Adam(embed.parameters(), lr=1e-2)
for step in range(30):
    ids = torch.randint(0, OLD + NEW, (32, 6))
    loss = F.cross_entropy(head(embed(ids).mean(dim=1)), (ids >= OLD).any(dim=1).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), torch.equal(before[:OLD], embed.weight[:OLD]))
