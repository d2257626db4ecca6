import torch

w = torch.ones(4, requires_grad=True)
buffer = torch.ones(4)
with torch.no_grad():
    square = buffer.view(2, 2)
buffer.mul_(w)
square.sum().backward()
