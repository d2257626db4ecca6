import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)


class EMAQuantizer(nn.Module):
    def __init__(self, codes=8, dim=4, decay=0.9):
        super().__init__()
        self.register_buffer("codebook", torch.randn(codes, dim))
        self.register_buffer("size", torch.ones(codes))
        self.register_buffer("total", self.codebook.clone())
        self.decay = decay

    def forward(self, z):
        with torch.no_grad():
            index = torch.cdist(z, self.codebook).argmin(dim=1)
        q = self.codebook[index]
        if self.training:
            with torch.no_grad():
                hot = F.one_hot(index, len(self.codebook)).float()
                self.size.mul_(self.decay).add_(hot.sum(0), alpha=1 - self.decay)
                self.total.mul_(self.decay).add_(hot.t() @ z, alpha=1 - self.decay)
                self.codebook.copy_(self.total / (self.size[:, None] + 1e-5))
        commit = F.mse_loss(z, q)
        return z + (q - z).detach(), commit


enc, vq, dec = nn.Linear(6, 4), EMAQuantizer(), nn.Linear(4, 6)
optimizer = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-2)
basis = torch.randn(4, 6)
for step in range(50):
    x = basis[torch.randint(0, 4, (32,))] + 0.05 * torch.randn(32, 6)
    q, commit = vq(enc(x))
    loss = F.mse_loss(dec(q), x) + 0.25 * commit
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(round(loss.item(), 4))
