import math

import torch

torch.manual_seed(1)


def layer(rows, cols):
    scale = 1 / math.sqrt(rows)
    w = (torch.randn(rows, cols) * scale).requires_grad_()
    b = torch.zeros(cols, requires_grad=True)
    return w, b


def make_net(*sizes):
    return [layer(i, o) for i, o in zip(sizes, sizes[1:])]


def forward(net, x):
    for w, b in net[:-1]:
        x = torch.tanh(x @ w + b)
    w, b = net[-1]
    return x @ w + b


def spirals(n, arms=2):
    arm = torch.randint(0, arms, (n,))
    r = torch.rand(n) * 2 + 0.2
    angle = 2.5 * r + arm * math.pi + 0.1 * torch.randn(n)
    return torch.stack([r * angle.cos(), r * angle.sin()], dim=1), arm


x, y = spirals(300)
net = make_net(2, 32, 32, 2)
weights = [tensor for pair in net for tensor in pair]
optimizer = torch.optim.SGD(weights, lr=0.2, momentum=0.9)
for step in range(100):
    pick = torch.randint(0, 300, (64,))
    logits = forward(net, x[pick])
    loss = torch.nn.functional.cross_entropy(logits, y[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        with torch.no_grad():
            hits = forward(net, x).argmax(1).eq(y).float().mean().item()
        print(f"{step:3d} {loss.item():.4f} {hits:.3f}")
