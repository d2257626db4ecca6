import torch

w = torch.ones(3, requires_grad=True)
scale = torch.ones(3, requires_grad=True)
loss = (w * 2).sum()
w.requires_grad_(False)
w.mul_(scale)
loss.backward()
