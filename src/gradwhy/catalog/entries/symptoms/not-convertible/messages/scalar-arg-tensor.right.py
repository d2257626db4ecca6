import torch

slope = torch.nn.Parameter(torch.tensor(0.1))
x = torch.randn(8)
torch.where(x > 0, x, slope * x).sum().backward()
