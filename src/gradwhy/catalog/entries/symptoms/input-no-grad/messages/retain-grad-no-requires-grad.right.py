import torch

backbone = torch.nn.Linear(4, 4).requires_grad_(False)
head = torch.nn.Linear(4, 1)
features = backbone(torch.randn(8, 4, requires_grad=True))
features.retain_grad()
head(features).mean().backward()
print(features.grad.norm())
