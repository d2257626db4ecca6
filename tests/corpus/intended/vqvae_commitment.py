import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)


class Quantizer(nn.Module):
    def __init__(self, codes=8, dim=4, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(codes, dim)
        self.codebook.weight.data.uniform_(-0.5, 0.5)
        self.beta = beta

    def forward(self, z):
        index = torch.cdist(z, self.codebook.weight).argmin(dim=1)
        q = self.codebook(index)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        return z + (q - z).detach(), loss, index


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 4))
        self.vq = Quantizer()
        self.dec = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 10))

    def forward(self, x):
        q, vq_loss, index = self.vq(self.enc(x))
        return self.dec(q), vq_loss, index


model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
centres = torch.randn(6, 10)
for step in range(60):
    x = centres[torch.randint(0, 6, (48,))] + 0.1 * torch.randn(48, 10)
    rebuilt, vq_loss, index = model(x)
    loss = F.mse_loss(rebuilt, x) + vq_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4), "codes used", index.unique().numel())
