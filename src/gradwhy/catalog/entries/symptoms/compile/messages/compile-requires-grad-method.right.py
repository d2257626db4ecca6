import torch


@torch.compile(backend="aot_eager", fullgraph=True)
def energy(x):
    return x.pow(2).sum()


energy(torch.ones(3).requires_grad_()).backward()
