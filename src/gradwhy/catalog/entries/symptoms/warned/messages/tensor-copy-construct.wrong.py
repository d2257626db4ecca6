import torch

model = torch.nn.Linear(4, 1)
output = model(torch.randn(8, 4))
loss = torch.tensor(output.mean(), requires_grad=True)
loss.backward()
print(model.weight.grad)
