import torch


def energy(x):
    x.requires_grad_()
    return x.pow(2).sum()


print(torch.func.grad(energy)(torch.ones(3)))
