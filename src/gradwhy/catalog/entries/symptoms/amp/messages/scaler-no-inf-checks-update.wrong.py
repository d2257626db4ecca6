import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for batch in range(4):
    scaler.scale(model(torch.randn(8, 4)).mean()).backward()
    if batch % 2 == 1:
        scaler.step(optimizer)
        optimizer.zero_grad()
    scaler.update()
