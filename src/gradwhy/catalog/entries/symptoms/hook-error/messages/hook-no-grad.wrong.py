import torch

backbone = torch.nn.Linear(4, 4).requires_grad_(False)
head = torch.nn.Linear(4, 1)
features = backbone(torch.randn(8, 4))
features.register_hook(lambda grad: print(grad.norm()))
head(features).mean().backward()
