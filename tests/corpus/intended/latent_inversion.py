import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(76)
decoder = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 12))
for p in decoder.parameters():
    p.requires_grad_(False)
truth = torch.randn(5, 4)
observed = decoder(truth)
z = nn.Parameter(torch.zeros(5, 4))
optimizer = torch.optim.Adam([z], lr=0.05)
for step in range(60):
    loss = F.mse_loss(decoder(z), observed) + 1e-4 * z.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), (z - truth).abs().mean().item())
