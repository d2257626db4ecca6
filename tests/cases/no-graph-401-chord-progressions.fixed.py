import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(401)
CHORDS, LENGTH = 12, 8


class Composer(nn.Module):
    def __init__(self, latent=10, width=32):
        super().__init__()
        self.start = nn.Linear(latent, width)
        self.cell = nn.GRUCell(CHORDS, width)
        self.out = nn.Linear(width, CHORDS)

    def forward(self, z):
        state = torch.tanh(self.start(z))
        chord = torch.zeros(len(z), CHORDS)
        bars = []
        for _ in range(LENGTH):
            state = self.cell(chord, state)
            logits = self.out(state)
            chord = F.gumbel_softmax(logits, tau=0.8, hard=True)
            bars.append(chord)
        return torch.stack(bars, dim=1)


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(CHORDS * LENGTH, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, bars):
        return self.net(bars)


def real_bars(count):
    roots = torch.randint(0, CHORDS, (count, 1))
    steps = torch.tensor([0, 5, 7, 0, 9, 5, 7, 0])
    return F.one_hot((roots + steps) % CHORDS, CHORDS).float()


composer, listener = Composer(), Listener()
opt_c = torch.optim.Adam(composer.parameters(), lr=2e-3)
opt_l = torch.optim.Adam(listener.parameters(), lr=2e-3)
for round_no in range(6):
    listener.requires_grad_(True)
    fake = composer(torch.randn(16, 10)).detach()
    loss_l = F.softplus(-listener(real_bars(16))).mean() + F.softplus(listener(fake)).mean()
    opt_l.zero_grad()
    loss_l.backward()
    opt_l.step()

    listener.requires_grad_(False)
    loss_c = F.softplus(-listener(composer(torch.randn(16, 10)))).mean()
    opt_c.zero_grad()
    loss_c.backward()
    opt_c.step()
    print(f"round {round_no}: listener {loss_l.item():.3f} composer {loss_c.item():.3f}")
