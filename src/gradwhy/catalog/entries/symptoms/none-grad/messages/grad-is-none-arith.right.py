import torch

w = torch.ones(3, requires_grad=True)
for _ in range(2):
    loss = w.pow(2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
