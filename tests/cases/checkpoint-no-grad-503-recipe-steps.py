import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Mixer(nn.Module):
    def __init__(self, width, heads=2):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, batch):
        h = self.norm1(batch["hidden"])
        h = batch["hidden"] + self.attention(h, h, h, key_padding_mask=batch["padding"], need_weights=False)[0]
        return {**batch, "hidden": h + self.mlp(self.norm2(h))}


class StepOrder(nn.Module):
    def __init__(self, vocabulary=40, width=24, depth=2, low_memory=True):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width, padding_idx=0)
        self.mixers = nn.ModuleList(Mixer(width) for _ in range(depth))
        self.low_memory = low_memory

    def forward(self, tokens):
        batch = {"hidden": self.words(tokens), "padding": tokens == 0}
        for mixer in self.mixers:
            if self.low_memory and torch.is_grad_enabled():
                batch = checkpoint(mixer, batch, use_reentrant=True)
            else:
                batch = mixer(batch)
        valid = (~batch["padding"]).unsqueeze(-1).float()
        pooled = (batch["hidden"] * valid).sum(1) / valid.sum(1)
        return torch.sigmoid(4 * pooled.mean(-1))


def pad(rows, length=12):
    return torch.stack([F.pad(r, (0, length - len(r))) for r in rows])


def recipes(count=16):
    position = torch.rand(count)
    lengths = torch.randint(4, 13, (count,)).tolist()
    rows = [1 + (p * 25).long() + torch.randint(0, 13, (n,)) for p, n in zip(position, lengths)]
    return pad(rows), position


def evaluate(model):
    tokens, position = recipes(32)
    with torch.no_grad():
        return F.mse_loss(model(tokens), position).item()


def main():
    torch.manual_seed(12)
    model = StepOrder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    print(f"before {evaluate(model):.4f}")
    for _ in range(20):
        tokens, position = recipes()
        loss = F.mse_loss(model(tokens), position)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"after {evaluate(model):.4f}")


main()
