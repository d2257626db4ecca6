import torch
import torch.nn as nn

torch.manual_seed(30)
G = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
C = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_c = torch.optim.Adam(C.parameters(), lr=1e-3, betas=(0.0, 0.9))


def penalty(real, fake):
    mix = torch.rand(len(real), 1)
    point = (mix * real + (1 - mix) * fake).requires_grad_(True)
    (grad,) = torch.autograd.grad(C(point).sum(), point, create_graph=True)
    return ((grad.norm(dim=1) - 1) ** 2).mean()


for step in range(30):
    for _ in range(3):
        real = torch.randn(32, 2) + 2
        fake = G(torch.randn(32, 3)).detach()
        loss_c = C(fake).mean() - C(real).mean() + 10 * penalty(real, fake)
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
    loss_g = -C(G(torch.randn(32, 3))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
print(loss_c.item(), loss_g.item())
