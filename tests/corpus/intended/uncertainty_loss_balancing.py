import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(88)
trunk, reg, cls = nn.Linear(5, 16), nn.Linear(16, 1), nn.Linear(16, 2)
log_sigma = nn.Parameter(torch.zeros(2))
params = [*trunk.parameters(), *reg.parameters(), *cls.parameters(), log_sigma]
optimizer = torch.optim.Adam(params, lr=5e-3)
for step in range(40):
    x = torch.randn(32, 5)
    h = torch.relu(trunk(x))
    losses = torch.stack([
        F.mse_loss(reg(h).squeeze(1), 3 * x[:, 0]),
        F.cross_entropy(cls(h), (x[:, 1] > 0).long())])
    loss = (losses * torch.exp(-2 * log_sigma) + log_sigma).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(losses.tolist(), log_sigma.tolist())
