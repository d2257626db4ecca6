import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(142)


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, potential, width=0.5):
        ctx.save_for_backward(potential)
        ctx.width = width
        return (potential > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (potential,) = ctx.saved_tensors
        near = (potential > ctx.width) & (potential < -ctx.width)
        return grad * near.float() / (2 * ctx.width), None


class SpikingNet(nn.Module):
    def __init__(self, inputs=10, hidden=40, classes=3, steps=6):
        super().__init__()
        self.inp, self.out = nn.Linear(inputs, hidden), nn.Linear(hidden, classes)
        self.steps = steps

    def forward(self, x):
        v = torch.zeros(len(x), self.inp.out_features)
        total = 0.0
        for _ in range(self.steps):
            v = 0.8 * v + self.inp(x)
            s = Spike.apply(v - 1.0)
            v = v * (1 - s.detach())
            total = total + self.out(s)
        return total / self.steps


def signals(n=48):
    y = torch.randint(0, 3, (n,))
    x = torch.randn(n, 10)
    x[torch.arange(n), y] += 2.5
    return x, y


net = SpikingNet()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(50):
    x, y = signals()
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4))
