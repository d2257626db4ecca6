import math
import re

import torch
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8.0, dropout=0.05):
        super().__init__()
        self.base = base
        self.base.requires_grad_(False)
        self.down = nn.Parameter(torch.empty(rank, base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank
        self.dropout = nn.Dropout(dropout)
        self.merged = False
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    @torch.no_grad()
    def merge(self):
        if not self.merged:
            self.base.weight += self.scale * self.up @ self.down
            self.merged = True

    def forward(self, x):
        out = self.base(x)
        if self.merged:
            return out
        return out + self.scale * (self.dropout(x) @ self.down.T @ self.up.T)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(width, width) for _ in range(3))
        self.o_proj = nn.Linear(width, width)

    def forward(self, x):
        split = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(mixed.transpose(1, 2).flatten(-2))


class Language(nn.Module):
    def __init__(self, tokens=40, width=32, depth=2):
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.layers = nn.ModuleList(Attention(width, 4) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, tokens, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = x + layer(x)
        return self.lm_head(self.norm(x))


def add_lora(model, pattern, **options):
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.Linear) and re.search(pattern, name):
            parent, _, leaf = name.rpartition(".")
            setattr(model.get_submodule(parent), leaf, LoRALinear(module, **options))
    return model


def trainable(model):
    chosen = [p for p in model.parameters() if p.requires_grad]
    total = sum(p.numel() for p in model.parameters())
    print(f"trained: {sum(p.numel() for p in chosen)} of {total}")
    return chosen


def main():
    torch.manual_seed(9)
    model = Language()
    model.requires_grad_(False)
    add_lora(model, r"(q|v)_proj$", rank=2)
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-2)
    text = torch.randint(0, 40, (8, 13))
    for epoch in range(4):
        logits = model(text[:, :-1])
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), text[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(epoch, loss.item())
    model.eval()
    for module in model.modules():
        if isinstance(module, LoRALinear):
            module.merge()
    with torch.no_grad():
        print(model(text[:, :-1]).shape)


if __name__ == "__main__":
    main()
