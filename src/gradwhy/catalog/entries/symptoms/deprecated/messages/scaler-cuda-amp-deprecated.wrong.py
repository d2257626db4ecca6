import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.cuda.amp.GradScaler()
loss = model(torch.randn(8, 4)).mean()
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
