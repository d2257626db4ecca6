import torch

x = torch.ones(3, requires_grad=True).double()
(x**2).sum().backward()
print(x.grad)
