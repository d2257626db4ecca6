import torch

torch.manual_seed(69)
w1 = (torch.randn(3, 16) * 0.5).requires_grad_()
b1 = torch.zeros(16, requires_grad=True)
w2 = (torch.randn(16, 1) * 0.25).requires_grad_()
params = [w1, b1, w2]
for step in range(60):
    x = torch.randn(64, 3)
    y = x[:, :1] * 2 - x[:, 1:2].abs()
    loss = ((torch.tanh(x @ w1 + b1) @ w2 - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= 0.05 * p.grad
            p.grad = None
    if step % 20 == 0:
        print(step, loss.item())
