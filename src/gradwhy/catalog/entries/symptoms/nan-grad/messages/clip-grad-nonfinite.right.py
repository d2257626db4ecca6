import torch

model = torch.nn.Linear(4, 3)
x = torch.randn(8, 4)
distance = (model(x) - model(x)).pow(2).sum(1)
(distance + 1e-8).sqrt().mean().backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
