import torch
from torch import nn
import torch.nn.functional as F


class Codebook(nn.Module):
    def __init__(self, size=16, width=4, commit=0.25):
        super().__init__()
        self.vectors = nn.Parameter(torch.randn(size, width) * 0.5)
        self.commit = commit
        self.register_buffer("usage", torch.zeros(size))

    def forward(self, z):
        index = torch.cdist(z.detach(), self.vectors.detach()).argmin(dim=1)
        q = self.vectors[index]
        loss = F.mse_loss(q, z.detach()) + self.commit * F.mse_loss(z, q.detach())
        with torch.no_grad():
            self.usage += torch.bincount(index, minlength=len(self.usage))
        return z + (q - z).detach(), loss, index


class Coder(nn.Module):
    def __init__(self, inputs=10):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(inputs, 24), nn.ReLU(), nn.Linear(24, 4))
        self.book = Codebook()
        self.dec = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, inputs))

    def forward(self, x):
        q, extra, index = self.book(self.enc(x))
        return self.dec(q), extra, index


def main():
    torch.manual_seed(21)
    centres = torch.randn(8, 10)
    model = Coder()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(80):
        x = centres[torch.randint(0, 8, (64,))] + 0.1 * torch.randn(64, 10)
        out, extra, index = model(x)
        rebuild = F.mse_loss(out, x)
        loss = rebuild + extra
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(step, round(rebuild.item(), 4), round(extra.item(), 4), len(set(index.tolist())))
    print("codes used:", int((model.book.usage > 0).sum()))


if __name__ == "__main__":
    main()
