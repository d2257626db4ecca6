import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import spectral_norm

torch.manual_seed(47)
critic = nn.Sequential(
    spectral_norm(nn.Linear(4, 24)), nn.LeakyReLU(0.1), spectral_norm(nn.Linear(24, 24)), nn.LeakyReLU(0.1),
    spectral_norm(nn.Linear(24, 1)))
optimizer = torch.optim.Adam(critic.parameters(), lr=2e-3)
for step in range(30):
    real, other = torch.randn(32, 4) + 1, torch.randn(32, 4)
    loss = torch.relu(1 - critic(real)).mean() + torch.relu(1 + critic(other)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("hinge", loss.item())
