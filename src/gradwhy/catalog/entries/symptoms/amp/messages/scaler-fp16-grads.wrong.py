import torch

model = torch.nn.Linear(4, 1).half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
loss = model(torch.randn(8, 4).half()).float().mean()
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
