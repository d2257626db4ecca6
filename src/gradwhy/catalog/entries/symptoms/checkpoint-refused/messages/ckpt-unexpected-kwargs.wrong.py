import torch
from torch.utils.checkpoint import checkpoint

layer = torch.nn.MultiheadAttention(4, 2, batch_first=True)
x = torch.randn(2, 5, 4, requires_grad=True)
output, _ = checkpoint(layer, x, x, x, use_reentrant=True, need_weights=False)
output.mean().backward()
