import torch
from torch.utils.checkpoint import checkpoint

block = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
head = torch.nn.Linear(4, 1)
x = torch.randn(8, 4)
loss = head(checkpoint(block, x, use_reentrant=False)).mean()
loss.backward()
print(block[0].weight.grad.norm())
