import torch

encoder, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
with torch.inference_mode():
    features = encoder(torch.randn(8, 4))
features.requires_grad_()
head(features).mean().backward()
