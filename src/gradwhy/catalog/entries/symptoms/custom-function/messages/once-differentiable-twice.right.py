import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad


x = torch.ones(3, requires_grad=True)
(slope,) = torch.autograd.grad(Square.apply(x).pow(2).sum(), x, create_graph=True)
slope.pow(2).sum().backward()
