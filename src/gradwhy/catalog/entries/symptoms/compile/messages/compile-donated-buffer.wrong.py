import torch

model = torch.compile(lambda x, w: torch.relu(x @ w).sigmoid().sum(), backend="aot_eager")
x, w = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
model(x, w).backward()
loss = model(x, w)
loss.backward(retain_graph=True)
