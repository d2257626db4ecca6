import torch

w = torch.ones(3)
x = torch.randn(8, 3)
print(torch.func.grad(lambda w: (x @ w).pow(2).mean())(w))
