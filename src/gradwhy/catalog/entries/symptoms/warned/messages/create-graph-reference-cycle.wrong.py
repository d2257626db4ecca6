import torch

model = torch.nn.Linear(4, 1)
loss = model(torch.randn(8, 4)).pow(2).mean()
loss.backward(create_graph=True)
penalty = sum(p.grad.pow(2).sum() for p in model.parameters())
penalty.backward()
