import torch

w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.LBFGS([w])
optimizer.zero_grad()
w.pow(2).sum().backward()
optimizer.step()
