import argparse

import torch
from torch import nn


class Stage(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv1d(cin, cout, 3, padding=1)
        self.act = nn.GELU()

    def forward(self, x):
        return self.act(self.conv(x))


class EcgNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.stage1 = Stage(1, 8)
        self.stage2 = Stage(8, 8)
        self.stage3 = Stage(8, 12)
        self.stage4 = Stage(12, 12)
        self.fc = nn.Linear(12, n_classes)

    def forward(self, x):
        for stage in (self.stage1, self.stage2, self.stage3, self.stage4):
            x = stage(x)
        return self.fc(x.mean(dim=-1))


def prepare(net, n_top, n_classes):
    for param in net.parameters():
        param.requires_grad = False
    children = [c for name, c in net.named_children() if name != "fc"]
    for child in children[len(children) - n_top:]:
        child.requires_grad = True
    net.fc = nn.Linear(net.fc.in_features, n_classes)
    return net


def batches(args):
    for _ in range(args.steps):
        y = torch.randint(0, 3, (16,))
        t = torch.linspace(0, 6.28, 40)
        yield (torch.sin((1 + y)[:, None] * t) + 0.1 * torch.randn(16, 40)).unsqueeze(1), y


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--top", type=int, default=2)
    args = parser.parse_args([])
    torch.manual_seed(0)
    net = prepare(EcgNet(9), args.top, 3)
    stage4 = net.stage4
    start = [p.detach().clone() for p in stage4.parameters()]
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    for i, (x, y) in enumerate(batches(args)):
        loss = criterion(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 5 == 0:
            print(f"{i:3d} {loss.item():.4f}")
    assert all(torch.equal(a, b) for a, b in zip(start, stage4.parameters()))
