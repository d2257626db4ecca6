import math

import torch
from torch import nn
import torch.nn.functional as F


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8):
        super().__init__()
        self.base = base
        self.lora_A = nn.Linear(base.in_features, rank, bias=False)
        self.lora_B = nn.Linear(rank, base.out_features, bias=False)
        self.scaling = alpha / rank
        nn.init.kaiming_uniform_(self.lora_A.weight, a=math.sqrt(5))
        nn.init.normal_(self.lora_B.weight, std=0.01)

    def forward(self, x):
        return self.base(x) + self.lora_B(self.lora_A(x)) * self.scaling


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(width, width) for _ in range(3))
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        h = self.norm(x)
        x = x + F.scaled_dot_product_attention(self.q_proj(h), self.k_proj(h), self.v_proj(h))
        return x + self.mlp(x)


class TextEncoder(nn.Module):
    def __init__(self, vocab=200, width=32, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return F.normalize(x.mean(1), dim=-1)


def inject(module, targets):
    for name, child in module.named_children():
        if name in targets and isinstance(child, nn.Linear):
            setattr(module, name, LoRALinear(child))
        else:
            inject(child, targets)


def mark_trainable(model, prefix="lora_"):
    for name, param in model.named_parameters():
        param.requires_grad = any(part.startswith(prefix) for part in name.split("."))


def main():
    torch.manual_seed(0)
    encoder = TextEncoder()
    inject(encoder, {"q_proj", "v_proj"})
    mark_trainable(encoder)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-3)
    queries, documents = torch.randint(0, 200, (64, 8)), torch.randint(0, 200, (64, 20))
    for step in range(12):
        index = torch.randint(0, 64, (16,))
        with torch.no_grad():
            d = encoder(documents[index])
        q = encoder(queries[index])
        loss = F.cross_entropy(q @ d.t() / 0.07, torch.arange(16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            hits = (q @ d.t()).argmax(1).eq(torch.arange(16)).float().mean().item()
            print(f"step {step} loss {loss.item():.4f} recall {hits:.2f}")


if __name__ == "__main__":
    main()
