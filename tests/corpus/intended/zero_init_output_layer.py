import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(40)


class Denoiser(nn.Module):
    def __init__(self, dim=6, hidden=32):
        super().__init__()
        self.time = nn.Embedding(20, hidden)
        self.inp = nn.Linear(dim, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, dim)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x, t):
        return self.out(F.silu(self.mid(F.silu(self.inp(x) + self.time(t)))))


net = Denoiser()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
alphas = torch.cumprod(1 - torch.linspace(1e-3, 0.2, 20), dim=0)
for step in range(40):
    x0 = torch.randn(48, 1).repeat(1, 6)
    t = torch.randint(0, 20, (48,))
    noise = torch.randn_like(x0)
    a = alphas[t][:, None]
    loss = F.mse_loss(net(a.sqrt() * x0 + (1 - a).sqrt() * noise, t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
