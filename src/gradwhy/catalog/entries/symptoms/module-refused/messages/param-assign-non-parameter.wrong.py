import torch

layer = torch.nn.Linear(4, 2)
mask = torch.ones(2, 4)
layer.weight = layer.weight * mask
layer(torch.randn(8, 4)).mean().backward()
