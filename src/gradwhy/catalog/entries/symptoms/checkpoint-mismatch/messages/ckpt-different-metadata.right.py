import torch
from torch.utils.checkpoint import checkpoint

layer = torch.nn.Linear(4, 4)


def attend(x):
    keys = layer(x)
    return (x @ keys.t()).softmax(-1) @ keys


x = torch.randn(3, 4, requires_grad=True)
checkpoint(attend, x, use_reentrant=False).sum().backward()
