import math

import torch
from torch import nn


class TinyViT(nn.Module):
    def __init__(self, patches=9, dim=16, classes=3):
        super().__init__()
        self.embed = nn.Linear(16, dim)
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.pos = nn.Parameter(torch.randn(1, patches + 1, dim) * 0.02)
        self.block = nn.TransformerEncoderLayer(dim, 2, dim * 2, dropout=0.0, batch_first=True, norm_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)
        self.log_scale = nn.Parameter(torch.tensor(math.log(4.0)))

    def forward(self, patches):
        x = self.embed(patches)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1) + self.pos
        x = self.norm(self.block(x))[:, 0]
        return self.head(x) * self.log_scale.exp()


def param_groups(model, weight_decay):
    decay, plain = [], []
    for name, p in model.named_parameters():
        if name.endswith("weight") and p.ndim > 1:
            decay.append(p)
        elif name.endswith("weight"):
            plain.append(p)
        elif name.endswith("bias"):
            plain.append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}]


def cosine(step, warmup, total):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))


def train(model, steps=24):
    optimizer = torch.optim.AdamW(param_groups(model, 0.05), lr=2e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: cosine(s, 4, steps))
    loss_fn = nn.CrossEntropyLoss()
    for step in range(steps):
        label = torch.randint(0, 3, (12,))
        patches = torch.randn(12, 9, 16) + label[:, None, None]
        loss = loss_fn(model(patches), label)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return loss.item()


torch.manual_seed(50)
model = TinyViT()
first = {n: p.detach().clone() for n, p in model.named_parameters()}
print("loss", train(model))
untouched = {n for n, p in model.named_parameters() if torch.equal(first[n], p)}
assert untouched == {"cls_token", "pos", "log_scale"}
