import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(29)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 6))

    def forward(self, z):
        return torch.tanh(self.fc(z))


def set_grad(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


gen = Generator()
dis = nn.Sequential(nn.Linear(6, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.RMSprop(gen.parameters(), lr=5e-4)
opt_d = torch.optim.RMSprop(dis.parameters(), lr=5e-4)
for step in range(30):
    set_grad(dis, True)
    for _ in range(2):
        real = torch.tanh(torch.randn(32, 6) + 1)
        with torch.no_grad():
            fake = gen(torch.randn(32, 8))
        loss_d = F.relu(1 - dis(real)).mean() + F.relu(1 + dis(fake)).mean()
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
    set_grad(dis, False)
    loss_g = -dis(gen(torch.randn(32, 8))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
print(loss_d.item(), loss_g.item())
