import torch

master = torch.nn.Linear(4, 1)
half = torch.nn.Linear(4, 1).to(torch.bfloat16)
half(torch.randn(8, 4, dtype=torch.bfloat16)).mean().backward()
for p, q in zip(master.parameters(), half.parameters()):
    p.grad = q.grad
