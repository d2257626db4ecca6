import argparse
from contextlib import nullcontext

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

parser = argparse.ArgumentParser()
parser.add_argument("--depth", type=int, default=3)
parser.add_argument("--checkpoint", action=argparse.BooleanOptionalAction, default=True)
parser.add_argument("--amp", action="store_true")
parser.add_argument("--accumulate", type=int, default=2)


class Layer(nn.Module):
    def __init__(self, width, heads=2):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True, dropout=0.1)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x, mask=None):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Tower(nn.Module):
    def __init__(self, args, tokens=30, width=16):
        super().__init__()
        self.use = args.checkpoint
        self.embed = nn.Embedding(tokens, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(args.depth))
        self.tail = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.head = nn.Linear(width, tokens)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        size = tokens.size(1)
        mask = torch.full((size, size), float("-inf")).triu(1)
        x = self.embed(tokens)
        for layer in self.layers:
            if self.use and self.training:
                x = checkpoint(layer, x, mask, use_reentrant=False)
            else:
                x = layer(x, mask)
        x = checkpoint_sequential(self.tail, 2, x, use_reentrant=False) if self.use else self.tail(x)
        return self.head(x)


def groups(model, decay=0.1):
    yes = [p for p in model.parameters() if p.requires_grad and p.ndim >= 2]
    no = [p for p in model.parameters() if p.requires_grad and p.ndim < 2]
    return [{"params": yes, "weight_decay": decay}, {"params": no, "weight_decay": 0.0}]


def main(args):
    torch.manual_seed(13)
    model = Tower(args)
    optimizer = torch.optim.AdamW(groups(model), lr=1e-3, betas=(0.9, 0.95))
    context = torch.autocast("cpu", dtype=torch.bfloat16) if args.amp else nullcontext()
    for step in range(3):
        optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for _ in range(args.accumulate):
            tokens = torch.randint(0, 30, (4, 11))
            with context:
                logits = model(tokens[:, :-1])
                loss = nn.functional.cross_entropy(logits.reshape(-1, 30), tokens[:, 1:].reshape(-1))
            (loss / args.accumulate).backward()
            total += loss.item() / args.accumulate
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(step, total)


if __name__ == "__main__":
    main(parser.parse_args([]))
