import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Encoder(nn.Module):
    def __init__(self, vocab=30, dim=16, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.1, batch_first=True) for _ in range(depth))
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.embed(ids)
        for block in self.blocks:
            h = checkpoint(block, h, use_reentrant=True) if self.training else block(h)
        return self.out(h)


torch.manual_seed(19)
model = Encoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
model.train()
for step in range(15):
    ids = torch.randint(1, 30, (8, 10))
    masked = ids.masked_fill(torch.rand(8, 10) < 0.3, 0)
    loss = F.cross_entropy(model(masked).flatten(0, 1), ids.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
