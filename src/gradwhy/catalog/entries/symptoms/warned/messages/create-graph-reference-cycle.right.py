import torch

model = torch.nn.Linear(4, 1)
loss = model(torch.randn(8, 4)).pow(2).mean()
gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
penalty = sum(g.pow(2).sum() for g in gradients)
(loss + penalty).backward()
