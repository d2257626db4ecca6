import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(34)


def train_reader(steps=40):
    reader = nn.Sequential(nn.Flatten(), nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 2))
    opt = torch.optim.Adam(reader.parameters(), lr=0.01)
    for _ in range(steps):
        x, y = bars(32)
        loss = F.cross_entropy(reader(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"reader {loss.item():.4f}")
    return reader.eval().requires_grad_(False)


def bars(n):
    y = torch.randint(0, 2, (n,))
    x = 0.1 * torch.rand(n, 8, 8)
    for i, k in enumerate(y.tolist()):
        where = int(torch.randint(1, 7, ()))
        if k:
            x[i, where] += 0.8
        else:
            x[i, :, where] += 0.8
    return x, y


def perturb(reader, picture, label, rounds=10, rate=0.02):
    start = picture.clone()
    optimizer = torch.optim.SGD([picture], lr=rate)
    for _ in range(rounds):
        logits = reader(picture)
        loss = -F.cross_entropy(logits, label)
        picture.requires_grad_(True)
        optimizer.zero_grad()
        loss.backward()
        picture.grad.sign_()
        optimizer.step()
    return picture.detach(), (picture.detach() - start).abs().max().item()


reader = train_reader()
pictures, labels = bars(40)
before = reader(pictures).argmax(1).eq(labels).float().mean().item()
changed, size = perturb(reader, pictures, labels)
after = reader(changed).argmax(1).eq(labels).float().mean().item()
print(f"accuracy {before:.2f} -> {after:.2f} with changes up to {size:.3f}")
