import torch

model = torch.nn.Linear(4, 1)
total = torch.tensor([0])
for _ in range(2):
    total += model(torch.randn(4))
total.sum().backward()
