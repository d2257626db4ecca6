import torch

model = torch.nn.Linear(4, 1)
x, y = torch.randn(8, 4), torch.randn(8)
loss = torch.nn.functional.mse_loss(model(x).squeeze(1), y)
loss.backward()
