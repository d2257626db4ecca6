import torch
import torch.nn.functional as F
from torch import nn


class LocalBlock(nn.Module):
    """A layer with a classifier of its own; nothing flows back to the layer below."""

    def __init__(self, n_in, n_out, classes, lr):
        super().__init__()
        self.layer = nn.Linear(n_in, n_out)
        self.norm = nn.LayerNorm(n_out)
        self.local = nn.Linear(n_out, classes)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=lr)

    def forward(self, x):
        return F.relu(self.norm(self.layer(x)))

    def learn(self, x, y):
        h = self(x.detach())
        loss = F.cross_entropy(self.local(h), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return h.detach(), loss.item()


class Stack(nn.Module):
    def __init__(self, sizes, classes, lr=3e-3):
        super().__init__()
        self.blocks = nn.ModuleList(LocalBlock(a, b, classes, lr) for a, b in zip(sizes, sizes[1:]))

    def learn(self, x, y):
        losses = []
        for block in self.blocks:
            x, loss = block.learn(x, y)
            losses.append(loss)
        return losses

    @torch.no_grad()
    def predict(self, x):
        votes = 0
        for block in self.blocks:
            x = block(x)
            votes = votes + block.local(x).softmax(dim=1)
        return votes.argmax(dim=1)


torch.manual_seed(6)
net = Stack([8, 20, 20, 20], 3)
centres = torch.randn(3, 8)
for step in range(25):
    y = torch.randint(0, 3, (24,))
    losses = net.learn(centres[y] + 0.8 * torch.randn(24, 8), y)
    if step % 8 == 0:
        print(step, [round(v, 3) for v in losses])
y = torch.randint(0, 3, (60,))
print("accuracy", (net.predict(centres[y] + 0.8 * torch.randn(60, 8)) == y).float().mean().item())
