import torch
import torch.nn as nn

torch.manual_seed(55)
scorer = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1, bias=False))
optimizer = torch.optim.Adam(scorer.parameters(), lr=5e-3)
for step in range(40):
    items = torch.randn(24, 5)
    relevance = items[:, 0] + items[:, 1]
    score = scorer(items)
    gap = score - score.t()
    wanted = (relevance[:, None] - relevance[None, :]) > 0
    loss = torch.relu(1 - gap)[wanted].mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
