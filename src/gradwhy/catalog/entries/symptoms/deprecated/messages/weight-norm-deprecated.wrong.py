import torch

conv = torch.nn.utils.weight_norm(torch.nn.Conv1d(4, 8, kernel_size=3))
conv(torch.randn(2, 4, 16)).mean().backward()
