import torch

w = torch.ones(4, requires_grad=True)
buffer = torch.ones(4)
buffer.mul_(w)
square = buffer.view(2, 2)
square.sum().backward()
