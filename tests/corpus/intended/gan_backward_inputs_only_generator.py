import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(105)
G = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
D = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters(), lr=1e-3), torch.optim.Adam(D.parameters(), lr=1e-3)
for step in range(40):
    real = torch.randn(32, 2) * 0.5 + 1
    fake = G(torch.randn(32, 4))
    d_loss = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_loss = F.softplus(-D(fake)).mean()
    opt_g.zero_grad()
    g_loss.backward(inputs=list(G.parameters()))
    opt_g.step()
print(d_loss.item(), g_loss.item())
