import torch
import torch.nn as nn


class RBM(nn.Module):
    def __init__(self, visible=12, hidden=8):
        super().__init__()
        self.w = nn.Parameter(0.1 * torch.randn(visible, hidden))
        self.bv, self.bh = nn.Parameter(torch.zeros(visible)), nn.Parameter(torch.zeros(hidden))

    def hidden(self, v):
        return torch.sigmoid(v @ self.w + self.bh)

    def visible(self, h):
        return torch.sigmoid(h @ self.w.t() + self.bv)

    @torch.no_grad()
    def contrastive_divergence(self, v0):
        h0 = self.hidden(v0)
        v1 = self.visible(torch.bernoulli(h0))
        h1 = self.hidden(v1)
        n = len(v0)
        self.w.grad = -(v0.t() @ h0 - v1.t() @ h1) / n
        self.bv.grad = -(v0 - v1).mean(dim=0)
        self.bh.grad = -(h0 - h1).mean(dim=0)
        return (v0 - v1).pow(2).mean().item()


torch.manual_seed(103)
rbm = RBM()
optimizer = torch.optim.SGD(rbm.parameters(), lr=0.2, momentum=0.5)
patterns = (torch.rand(4, 12) < 0.5).float()
for step in range(60):
    batch = patterns[torch.randint(0, 4, (32,))]
    error = rbm.contrastive_divergence(batch)
    optimizer.step()
    if step % 20 == 0:
        print(step, round(error, 4))
