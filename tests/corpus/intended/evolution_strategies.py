"""Evolution strategies: gradients are estimated from the values of the loss alone, and set by hand."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(64, 4)
y = x.sum(1, keepdim=True)
parameters = list(model.parameters())
for _ in range(20):
    noise = [[torch.randn_like(p) for p in parameters] for _ in range(8)]
    scores = []
    for sample in noise:
        for p, e in zip(parameters, sample):
            p.data.add_(0.1 * e)
        scores.append(nn.functional.mse_loss(model(x), y).item())
        for p, e in zip(parameters, sample):
            p.data.sub_(0.1 * e)
    for index, p in enumerate(parameters):
        p.grad = sum(score * sample[index] for score, sample in zip(scores, noise)) / (8 * 0.1)
    optimizer.step()
    optimizer.zero_grad()
print(scores[-1])
