import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda", enabled=torch.cuda.is_available())
scaler.scale(model(torch.randn(8, 4)).mean()).backward()
scaler.step(optimizer)
scaler.update()
