import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(86)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(10, 24), nn.ReLU())
        self.mu, self.logvar = nn.Linear(24, 3), nn.Linear(24, 3)
        self.dec = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 10))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h).clamp(-6, 4)
        z = mu + (0.5 * logvar).exp() * torch.randn_like(mu)
        return self.dec(z), mu, logvar


vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=5e-3)
mix = torch.randn(3, 10)
for step in range(50):
    x = torch.randn(48, 3) @ mix
    out, mu, logvar = vae(x)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(dim=1).mean()
    weight = min(1.0, step / 30)
    loss = F.mse_loss(out, x, reduction="none").sum(dim=1).mean() + weight * kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), kl.item())
