import argparse
import fnmatch

import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, c, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(c, c, 3, stride, 1, bias=False)
        self.norm = nn.BatchNorm2d(c)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)) + (x if self.conv.stride == (1, 1) else 0))


class Encoder(nn.Module):
    def __init__(self, c=8, depth=2):
        super().__init__()
        self.stem = nn.Conv2d(3, c, 3, padding=1)
        self.stages = nn.ModuleList([Block(c, stride=1 + i % 2) for i in range(depth)])

    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return x.mean((2, 3))


class Classifier(nn.Module):
    def __init__(self, encoder, classes):
        super().__init__()
        self.encoder = encoder
        self.proj = nn.Linear(8, classes)

    def forward(self, x):
        return self.proj(self.encoder(x))


def set_trainable(model, patterns):
    kept = []
    for name, param in model.named_parameters():
        param.requires_grad = any(fnmatch.fnmatch(name, p) for p in patterns)
        if param.requires_grad:
            kept.append(name)
    return kept


def get_args(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--tune", nargs="*", default=["head.*", "fc.*"])
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=3)
    return parser.parse_args(argv)


def main(args):
    torch.manual_seed(0)
    model = Classifier(Encoder(), classes=4)
    set_trainable(model, args.tune)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, weight_decay=1e-4)
    loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
    for step in range(args.steps):
        x, y = torch.randn(8, 3, 12, 12), torch.randint(0, 4, (8,))
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"last loss {loss.item():.3f}")


if __name__ == "__main__":
    main(get_args([]))
