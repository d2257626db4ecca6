import torch

model = torch.nn.Linear(4, 3)
x, y = torch.randn(8, 4), torch.randint(3, (8,))
accuracy = (model(x).argmax(1) == y).mean()
print(accuracy)
