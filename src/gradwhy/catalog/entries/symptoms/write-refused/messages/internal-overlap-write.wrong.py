import torch

model = torch.nn.Linear(4, 4)
scores = model(torch.randn(1, 4)).expand(8, 4)
scores += torch.randn(8, 4)
scores.sum().backward()
