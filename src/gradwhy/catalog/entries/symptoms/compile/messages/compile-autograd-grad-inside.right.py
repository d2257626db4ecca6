import torch


@torch.compile(backend="aot_eager", fullgraph=True)
def force(x):
    return -torch.func.grad(lambda x: x.pow(2).sum())(x)


print(force(torch.ones(3)))
