import torch

slope = torch.nn.Parameter(torch.tensor(0.1))
x = torch.randn(8)
torch.nn.functional.leaky_relu(x, slope).sum().backward()
