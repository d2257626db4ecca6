import torch

w = torch.ones(3, requires_grad=True)


@torch.compile(backend="aot_eager")
def step(w):
    w.add_(1)
    return w.sum()


step(w).backward()
