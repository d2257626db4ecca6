import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def renormalise(weights, keep):
    weights = weights * keep.unsqueeze(1)
    return weights / weights.sum(-1, keepdim=True).clamp_min(1e-6)


class GatedAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.gate = nn.Linear(dim, heads)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, keep):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-2, -1) * self.scale, dim=-1)
        weights = renormalise(weights, keep.unsqueeze(1))
        mixed = (weights @ v) * self.gate(x).sigmoid().transpose(1, 2).unsqueeze(-1)
        return self.out(mixed.transpose(1, 2).reshape(b, n, d))


class Pooler(nn.Module):
    def __init__(self, dim=12, heads=3, depth=2, classes=2):
        super().__init__()
        self.blocks = nn.ModuleList([GatedAttention(dim, heads) for _ in range(depth)])
        self.norms = nn.ModuleList([nn.LayerNorm(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, classes)

    def forward(self, x, keep):
        for norm, block in zip(self.norms, self.blocks):
            x = x + block(norm(x), keep)
        pooled = (x * keep.unsqueeze(-1)).sum(1) / keep.sum(1, keepdim=True)
        return self.head(pooled)


def bags(n, size, dim):
    keep = (torch.rand(n, size) > 0.3).float()
    keep[:, 0] = 1
    return TensorDataset(torch.randn(n, size, dim), keep, torch.randint(0, 2, (n,)))


torch.manual_seed(0)
model = Pooler()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(bags(16, 6, 12), batch_size=4, shuffle=True)
for epoch in range(2):
    correct = 0
    for x, keep, y in loader:
        logits = model(x, keep)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (logits.argmax(1) == y).sum().item()
    print(f"epoch {epoch} accuracy {correct / 16:.2f}")
