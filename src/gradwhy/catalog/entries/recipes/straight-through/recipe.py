"""Train through a step function by a straight-through estimator: by detach, and by a Function that clips the gradient."""

import torch
from torch import nn

torch.manual_seed(0)


def rounded(x):
    """round(x) in the forward pass; the gradient of x itself in the backward pass."""
    return x + (x.round() - x).detach()


class Sign(torch.autograd.Function):
    """±1 in the forward pass; in the backward pass the gradient where |x| <= 1, and zero elsewhere."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() <= 1)


class Binary(nn.Linear):
    """A linear layer whose weights are used as ±1. What is trained are the real numbers behind them."""

    def forward(self, x):
        return nn.functional.linear(x, Sign.apply(self.weight), self.bias)


class Quantised(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(16, 32)
        self.decoder = Binary(32, 1)
        self.scale = nn.Parameter(torch.tensor(0.1))

    def forward(self, x):
        codes = rounded(4 * torch.sigmoid(self.encoder(x)))
        return self.scale * self.decoder(codes)


model = Quantised()
with torch.no_grad():
    model.decoder.weight.uniform_(-0.02, 0.02)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
teacher = torch.randn(16, 1)
first, signs = model.encoder.weight.clone(), model.decoder.weight.sign()
losses = []
for _ in range(200):
    x = torch.randn(128, 16)
    loss = nn.functional.mse_loss(model(x), torch.tanh(x @ teacher))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

assert sum(losses[-10:]) < 0.5 * sum(losses[:10])
assert not torch.equal(model.encoder.weight, first), "the gradient goes through round"
assert not torch.equal(model.decoder.weight.sign(), signs), "some binary weights have changed their sign"

# Forward the step function, backward the gradient that was chosen for it.
x = torch.tensor([-1.7, -0.4, 0.2, 1.3], requires_grad=True)
(through,) = torch.autograd.grad(rounded(x).sum(), x)
(clipped,) = torch.autograd.grad(Sign.apply(x).sum(), x)
assert torch.equal(rounded(x), x.round()) and through.tolist() == [1, 1, 1, 1]
assert Sign.apply(x).tolist() == [-1, -1, 1, 1] and clipped.tolist() == [0, 1, 1, 0]
print(f"loss {sum(losses[:10]) / 10:.3f} -> {sum(losses[-10:]) / 10:.3f}")
