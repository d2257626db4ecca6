import torch


def energy(x):
    return x.pow(2).sum()


print(torch.func.grad(energy)(torch.ones(3)))
