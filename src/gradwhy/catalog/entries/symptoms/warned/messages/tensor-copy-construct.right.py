import torch

model = torch.nn.Linear(4, 1)
output = model(torch.randn(8, 4))
loss = output.mean()
loss.backward()
print(model.weight.grad)
