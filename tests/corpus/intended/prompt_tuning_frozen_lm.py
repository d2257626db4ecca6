import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(82)


class FrozenLM(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, embeds):
        return self.out(self.layer(embeds))


lm = FrozenLM().train()
lm.requires_grad_(False)
prompt = nn.Parameter(torch.randn(4, 16) * 0.5)
optimizer = torch.optim.AdamW([prompt], lr=5e-2, weight_decay=0.0)
for step in range(30):
    ids = torch.randint(0, 30, (8, 6))
    embeds = torch.cat([prompt.expand(8, -1, -1), lm.embed(ids)], dim=1)
    logits = lm(embeds)[:, -1]
    loss = F.cross_entropy(logits, torch.full((8,), 7))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
