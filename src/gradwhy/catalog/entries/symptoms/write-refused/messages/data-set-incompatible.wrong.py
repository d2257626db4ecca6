import torch

layer = torch.nn.Linear(4, 1)
loaded = torch.eye(1, 4).to_sparse()
layer.weight.data = loaded
layer(torch.randn(8, 4)).mean().backward()
