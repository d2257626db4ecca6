import torch

with torch.autograd.detect_anomaly():
    x = torch.zeros(3, requires_grad=True)
    scale = torch.sqrt(x)
    (scale * 0).sum().backward()
