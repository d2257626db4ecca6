import torch

model = torch.nn.Linear(4, 1)
x, y = torch.randn(8, 4), torch.randn(8, 1)
loss = torch.nn.MSELoss(model(x), y)
loss.backward()
