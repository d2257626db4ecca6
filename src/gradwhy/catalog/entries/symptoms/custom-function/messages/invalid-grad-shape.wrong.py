import torch


class MatMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad @ w.t(), grad.t() @ x


w = torch.randn(4, 2, requires_grad=True)
MatMul.apply(torch.randn(8, 4), w).sum().backward()
