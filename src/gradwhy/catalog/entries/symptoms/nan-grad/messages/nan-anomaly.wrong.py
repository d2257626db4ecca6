import torch

torch.autograd.set_detect_anomaly(True)
x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
root = torch.where(x > 0, torch.sqrt(x), x)
root.sum().backward()
