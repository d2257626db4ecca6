import torch

torch.autograd.set_detect_anomaly(True)
x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
safe = torch.where(x > 0, x, 1.0)
root = torch.where(x > 0, torch.sqrt(safe), x)
root.sum().backward()
