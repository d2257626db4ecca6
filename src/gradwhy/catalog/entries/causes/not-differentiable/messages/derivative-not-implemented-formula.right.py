import torch

a = torch.randn(3, 2, requires_grad=True)
b = torch.randn(4, 2)
energy = (a.unsqueeze(1) - b).norm(dim=-1).sum()
(force,) = torch.autograd.grad(energy, a, create_graph=True)
force.pow(2).sum().backward()
