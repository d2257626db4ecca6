import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(50)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
meta = torch.optim.Adam(net.parameters(), lr=1e-3)


def sine_task():
    amplitude, phase = 0.5 + torch.rand(1), 3 * torch.rand(1)
    return lambda x: amplitude * torch.sin(x + phase)


def adapt(params, x, y, lr=0.05):
    loss = F.mse_loss(functional_call(net, params, (x,)), y)
    grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
    return {name: p - lr * g for (name, p), g in zip(params.items(), grads)}


for iteration in range(25):
    meta.zero_grad()
    total = 0.0
    for _ in range(4):
        task = sine_task()
        x1, x2 = torch.rand(10, 1) * 6 - 3, torch.rand(10, 1) * 6 - 3
        fast = adapt(dict(net.named_parameters()), x1, task(x1))
        loss = F.mse_loss(functional_call(net, fast, (x2,)), task(x2)) / 4
        loss.backward()
        total += loss.item()
    meta.step()
    if iteration % 8 == 0:
        print(iteration, total)
