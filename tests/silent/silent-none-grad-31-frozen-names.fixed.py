import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(60)


class Attend(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.kv = nn.Linear(dim, dim, bias=False), nn.Linear(dim, 2 * dim, bias=False)

    def forward(self, x, context):
        k, v = self.kv(context).chunk(2, dim=-1)
        return x + F.scaled_dot_product_attention(self.q(x), k, v)


class Decoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.encoder_attention = Attend(dim)
        self.ff = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids, memory):
        h = self.encoder_attention(self.tokens(ids), memory)
        return self.out(h + self.ff(h))


class Captioner(nn.Module):
    def __init__(self, features=10, vocab=16, dim=24):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(features, dim), nn.Tanh(), nn.Linear(dim, dim))
        self.decoder = Decoder(vocab, dim)

    def forward(self, regions, ids):
        return self.decoder(ids, self.encoder(regions))


def freeze_pretrained(model):
    for name, param in model.named_parameters():
        if name.startswith("encoder."):
            param.requires_grad = False


words = torch.randn(16, 10)


def captions(n=32, length=5):
    ids = torch.randint(0, 16, (n, length))
    return words[ids], ids


model = Captioner()
freeze_pretrained(model)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3)
for step in range(50):
    regions, ids = captions()
    logits = model(regions, ids[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4))
