import torch

table = torch.randn(5, 4, requires_grad=True)
ids = torch.tensor([0.0, 3.0])
table[ids].sum().backward()
