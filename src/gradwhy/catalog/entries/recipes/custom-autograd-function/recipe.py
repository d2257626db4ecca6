"""Write a torch.autograd.Function of one's own, and prove its backward: first and second derivative, constants, double use."""

import torch
from torch import nn
from torch.autograd.function import once_differentiable

torch.manual_seed(0)


class Swish(torch.autograd.Function):
    """x * sigmoid(scale * x). Keeps x only, and computes the sigmoid again in the backward pass."""

    @staticmethod
    def forward(x, scale):
        return x * torch.sigmoid(scale * x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, scale = inputs
        ctx.save_for_backward(x)
        ctx.scale = scale

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        share = torch.sigmoid(ctx.scale * x)
        slope = share + ctx.scale * x * share * (1 - share)
        return gradient * slope, None


class Sorted(torch.autograd.Function):
    """Sorted along the last dimension, with a backward that autograd is not to differentiate again."""

    @staticmethod
    def forward(x):
        return torch.sort(x, dim=-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, indices = output
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        (indices,) = ctx.saved_tensors
        return torch.zeros_like(gradient).scatter(-1, indices, gradient)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 24)
        self.outer = nn.Linear(24, 1)

    def forward(self, x):
        values, _ = Sorted.apply(self.inner(x))
        return self.outer(Swish.apply(values, 1.5))


model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(100):
    inputs = torch.randn(64, 6)
    loss = nn.functional.mse_loss(model(inputs), inputs.amax(dim=1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

assert losses[-1] < 0.1 * losses[0]
assert all(parameter.grad.abs().sum() > 0 for parameter in model.parameters())

# In double precision: numeric and written derivative agree, also the second one.
x = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(lambda x: Swish.apply(x, 1.5), x)
assert torch.autograd.gradgradcheck(lambda x: Swish.apply(x, 1.5), x)
assert torch.autograd.gradcheck(lambda x: Sorted.apply(x)[0], x)
print(f"loss {losses[0]:.3f} -> {losses[-1]:.4f}")
