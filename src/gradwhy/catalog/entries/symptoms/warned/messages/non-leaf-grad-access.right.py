import torch

x = torch.ones(3).double().requires_grad_()
(x**2).sum().backward()
print(x.grad)
