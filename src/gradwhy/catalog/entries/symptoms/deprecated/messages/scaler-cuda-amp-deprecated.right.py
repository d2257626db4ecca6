import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(4, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler(device)
loss = model(torch.randn(8, 4, device=device)).mean()
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
