import torch

model = torch.nn.Linear(4, 1)
total = 0.0
for _ in range(3):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    total += float(loss)
print(total)
