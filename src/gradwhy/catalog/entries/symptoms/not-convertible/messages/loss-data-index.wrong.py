import torch

model = torch.nn.Linear(4, 1)
loss = model(torch.randn(8, 4)).pow(2).mean()
loss.backward()
print("loss", loss.data[0])
