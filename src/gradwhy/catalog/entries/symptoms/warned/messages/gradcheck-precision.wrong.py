import torch

x = torch.ones(3, requires_grad=True)
torch.autograd.gradcheck(lambda x: x * 2, (x,))
