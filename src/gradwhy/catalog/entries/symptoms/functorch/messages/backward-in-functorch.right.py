import torch


def loss(w, x):
    return (x @ w).pow(2).mean()


print(torch.func.grad(loss)(torch.ones(3), torch.randn(8, 3)))
