import torch
import torch.nn.functional as F

q = torch.randn(1, 2, 4, 8, requires_grad=True)
output = F.scaled_dot_product_attention(q, q, q)
(slope,) = torch.autograd.grad(output.sum(), q, create_graph=True)
slope.pow(2).sum().backward()
