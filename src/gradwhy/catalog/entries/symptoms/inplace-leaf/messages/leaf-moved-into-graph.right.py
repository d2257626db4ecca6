import torch

w = torch.ones(3, requires_grad=True)
scale = torch.ones(3, requires_grad=True)
loss = (w * 2).sum()
loss.backward()
with torch.no_grad():
    w.mul_(scale)
