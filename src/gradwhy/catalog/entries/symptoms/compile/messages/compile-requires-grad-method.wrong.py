import torch


@torch.compile(backend="aot_eager", fullgraph=True)
def energy(x):
    x.requires_grad_()
    return x.pow(2).sum()


energy(torch.ones(3)).backward()
