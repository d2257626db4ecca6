import torch

a = torch.randn(3, 2, requires_grad=True)
b = torch.randn(4, 2)
energy = torch.cdist(a, b).sum()
(force,) = torch.autograd.grad(energy, a, create_graph=True)
force.pow(2).sum().backward()
