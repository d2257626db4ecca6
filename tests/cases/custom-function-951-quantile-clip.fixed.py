import torch
from torch import nn
from torch.autograd import Function


class Bound(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        inside = (x >= low) & (x <= high)
        ctx.save_for_backward(inside)
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad):
        (inside,) = ctx.saved_tensors
        return grad.masked_fill(~inside, 0), None, None


class Scale(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


class Bounded(nn.Module):
    def __init__(self, width, low=-2.0, high=2.0):
        super().__init__()
        self.low, self.high = low, high
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return Bound.apply(self.linear(x), self.low, self.high)


class Demand(nn.Module):
    def __init__(self, inputs=7, width=16, quantiles=(0.1, 0.5, 0.9)):
        super().__init__()
        self.enter = nn.Linear(inputs, width)
        self.body = nn.ModuleList(Bounded(width) for _ in range(2))
        self.heads = nn.Linear(width, len(quantiles))
        self.register_buffer("quantiles", torch.tensor(quantiles))

    def forward(self, x):
        x = torch.tanh(self.enter(x))
        for block in self.body:
            x = x + Scale.apply(block(x), 0.5)
        return self.heads(x)

    def pinball(self, predicted, actual):
        gap = actual.unsqueeze(-1) - predicted
        return torch.maximum(self.quantiles * gap, (self.quantiles - 1) * gap).mean()


def main():
    torch.manual_seed(6)
    model = Demand()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    x = torch.randn(64, 7)
    y = x[:, :2].sum(1) + 0.2 * torch.randn(64)
    for epoch in range(5):
        loss = model.pinball(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(epoch, loss.item())


main()
