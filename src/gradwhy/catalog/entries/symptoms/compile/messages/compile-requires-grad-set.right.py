import torch


@torch.compile(backend="aot_eager", fullgraph=True)
def energy(x):
    x = x * 2
    return x.pow(2).sum()


energy(torch.ones(3, requires_grad=True)).backward()
