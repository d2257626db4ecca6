import torch
import torch.nn as nn
import torch.nn.functional as F


def pgd(model, x, y, eps=0.2, steps=3):
    delta = torch.zeros_like(x).uniform_(-eps, eps)
    for _ in range(steps):
        delta.requires_grad_(True)
        loss = F.cross_entropy(model(x + delta), y)
        (grad,) = torch.autograd.grad(loss, delta)
        delta = (delta.detach() + 0.1 * grad.sign()).clamp(-eps, eps)
    return (x + delta).detach()


torch.manual_seed(73)
model = nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(25):
    x = torch.randn(32, 6)
    y = x[:, :3].argmax(dim=1)
    model.eval()
    adversarial = pgd(model, x, y)
    model.train()
    loss = F.cross_entropy(model(adversarial), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
