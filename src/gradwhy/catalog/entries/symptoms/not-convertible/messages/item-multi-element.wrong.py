import torch

model = torch.nn.Linear(4, 1)
loss = torch.nn.functional.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1), reduction="none")
loss.mean().backward()
print("loss", loss.item())
