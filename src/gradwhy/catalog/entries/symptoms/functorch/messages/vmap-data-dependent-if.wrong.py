import torch


def clipped(x):
    norm = x.norm()
    return x / norm if norm > 1 else x


print(torch.func.vmap(clipped)(torch.randn(4, 3)))
