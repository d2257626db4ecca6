import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return x * grad


x = torch.randn(3, dtype=torch.float64, requires_grad=True)
torch.autograd.gradcheck(Square.apply, (x,))
