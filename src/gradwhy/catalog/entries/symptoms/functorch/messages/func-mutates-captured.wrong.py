import torch

average = torch.zeros(3)


def loss(w, x):
    average.mul_(0.9).add_(w, alpha=0.1)
    return (x @ w).pow(2).mean()


print(torch.func.grad(loss)(torch.ones(3), torch.randn(8, 3)))
