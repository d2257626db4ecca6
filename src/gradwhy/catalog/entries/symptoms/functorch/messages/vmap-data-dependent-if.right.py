import torch


def clipped(x):
    norm = x.norm()
    return torch.where(norm > 1, x / norm, x)


print(torch.func.vmap(clipped)(torch.randn(4, 3)))
