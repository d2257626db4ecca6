import torch


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return -grad


features = torch.nn.Linear(4, 4)(torch.randn(8, 4))
output = Reverse.apply(features)
output += 1
output.mean().backward()
