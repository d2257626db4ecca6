"""Two custom Functions: a reversed gradient, and a rounding that passes the gradient straight through."""

import torch
from torch import nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Reverse(Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.strength, None


class StraightRound(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.bounds = low, high
        return x.round().clamp(low, high)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        low, high = ctx.bounds
        grad = None
        if ctx.needs_input_grad[0]:
            grad = torch.where((x < low) | (x > high), torch.zeros_like(grad_output), grad_output)
        return grad, None, None


class DomainNet(nn.Module):
    def __init__(self, inputs=8, width=16, classes=3):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(inputs, width), nn.ReLU())
        self.scale = nn.Parameter(torch.tensor(4.0))
        self.label = nn.Linear(width, classes)
        self.domain = nn.Linear(width, 2)

    def forward(self, x, strength):
        codes = StraightRound.apply(self.features(x) * self.scale, 0, 15) / self.scale
        return self.label(codes), self.domain(Reverse.apply(codes, strength))


def strength_at(progress):
    return 2 / (1 + pow(2.718, -10 * progress)) - 1


def main(steps=10):
    torch.manual_seed(10)
    net = DomainNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    criterion = nn.CrossEntropyLoss()
    assert torch.autograd.gradcheck(
        lambda v: Reverse.apply(v, -1.0), torch.randn(3, dtype=torch.double, requires_grad=True)
    )
    for step in range(steps):
        here, there = torch.randn(16, 8), torch.randn(16, 8) + 1
        labels = torch.randint(0, 3, (16,))
        outputs, domains = net(torch.cat([here, there]), strength_at(step / steps))
        side = torch.cat([torch.zeros(16), torch.ones(16)]).long()
        loss = criterion(outputs[:16], labels) + criterion(domains, side)
        net.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, round(loss.item(), 4))


main()
