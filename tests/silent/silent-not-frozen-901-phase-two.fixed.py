import torch
from torch import nn


class TextModel(nn.Module):
    def __init__(self, vocab=30, dim=10, labels=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.mix = nn.Linear(dim, dim)
        self.head = nn.Linear(dim, labels)

    def forward(self, ids):
        return self.head(torch.relu(self.mix(self.embed(ids).mean(dim=1))))


def freeze(module):
    for p in module.parameters():
        p.requires_grad_(False)
        p.grad = None


def batch(n=16):
    ids = torch.randint(0, 30, (n, 7))
    return ids, ids[:, 0] % 3


def phase(model, optimizer, steps, name):
    total = 0.0
    for _ in range(steps):
        ids, label = batch()
        optimizer.zero_grad(set_to_none=False)
        loss = nn.functional.cross_entropy(model(ids), label)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"{name}: {total / steps:.4f}")


torch.manual_seed(110)
model = TextModel()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
phase(model, optimizer, 15, "all")
freeze(model.embed)
table = model.embed.weight.detach().clone()
phase(model, optimizer, 15, "head only")
assert torch.equal(table, model.embed.weight)
