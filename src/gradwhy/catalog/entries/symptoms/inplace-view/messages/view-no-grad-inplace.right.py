import torch

layer = torch.nn.Linear(4, 4)
output = layer(torch.randn(2, 4))
first = output[0]
first += 1
output.sum().backward()
