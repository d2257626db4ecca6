import torch


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, grad):
        return torch.ones_like(grad)


x = torch.ones(3, device="meta", requires_grad=True)
Clip.apply(x).sum().backward()
