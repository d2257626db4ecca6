import torch


@torch.compile(backend="aot_eager", fullgraph=True)
def energy(x):
    x = x * 2
    x.requires_grad = True
    return x.pow(2).sum()


energy(torch.ones(3)).backward()
