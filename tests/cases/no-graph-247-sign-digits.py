from collections import OrderedDict

import torch
from torch import nn

torch.manual_seed(73)


def block(i, o):
    return nn.Sequential(nn.Linear(i, o), nn.LayerNorm(o), nn.GELU())


def build():
    return nn.Sequential(OrderedDict([
        ("stem", block(16, 32)),
        ("middle", block(32, 32)),
        ("last", block(32, 16)),
        ("classify", nn.Linear(16, 4)),
    ]))


def unfreeze(model, names):
    opened = []
    for name, parameter in model.named_parameters():
        parameter.requires_grad = False
        if name.split(".")[0] in names:
            parameter.require_grad = True
            opened.append(name)
    return opened


def hands(n):
    label = torch.randint(0, 4, (n,))
    fingers = torch.eye(4).repeat_interleave(4, dim=1)[label]
    return fingers + 0.5 * torch.randn(n, 16), label


model = build()
opened = unfreeze(model, {"last", "classify"})
print("opened:", len(opened), "tensors")
optimizer = torch.optim.AdamW([p for n, p in model.named_parameters() if n in opened], lr=5e-3)
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)

for epoch in range(5):
    hits, seen = 0, 0
    for _ in range(10):
        x, y = hands(32)
        out = model(x)
        loss = criterion(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hits += (out.argmax(1) == y).sum().item()
        seen += len(y)
    print(f"epoch {epoch}: loss {loss.item():.4f} hits {hits / seen:.2%}")
