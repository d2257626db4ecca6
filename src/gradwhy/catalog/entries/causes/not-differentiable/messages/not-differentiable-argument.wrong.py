import torch

model = torch.nn.Linear(4, 3)
weights = torch.ones(3, requires_grad=True)
x, y = torch.randn(8, 4), torch.randint(3, (8,))
torch.nn.functional.cross_entropy(model(x), y, weight=weights).backward()
