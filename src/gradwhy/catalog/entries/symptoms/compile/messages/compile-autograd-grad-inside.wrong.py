import torch


@torch.compile(backend="aot_eager", fullgraph=True)
def force(x):
    energy = x.pow(2).sum()
    return -torch.autograd.grad(energy, x)[0]


print(force(torch.ones(3, requires_grad=True)))
