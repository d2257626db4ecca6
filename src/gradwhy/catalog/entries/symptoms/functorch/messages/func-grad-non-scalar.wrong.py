import torch

x, y = torch.randn(8, 3), torch.randn(8)
slope = torch.func.grad(lambda w: (x @ w - y) ** 2)
print(slope(torch.ones(3)))
