import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

torch.manual_seed(5)
LATENT, SIDE = 8, 8


def glyphs(count):
    canvas = torch.zeros(count, SIDE, SIDE)
    row, col = torch.randint(SIDE, (2, count))
    canvas[torch.arange(count), row] = 1.0
    canvas[torch.arange(count), :, col] = 1.0
    return canvas.flatten(1)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(LATENT, 48), nn.ReLU(), nn.Linear(48, SIDE * SIDE))

    def forward(self, z):
        return torch.sigmoid(self.body(z))


class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(SIDE * SIDE, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))

    def forward(self, x):
        return self.body(x).squeeze(1)


class Trainer:
    def __init__(self):
        self.g, self.d = Generator(), Judge()
        self.g_opt = torch.optim.Adam(self.g.parameters(), lr=2e-3, betas=(0.5, 0.99))
        self.d_opt = torch.optim.Adam(self.d.parameters(), lr=1e-3, betas=(0.5, 0.99))

    def judge_loss(self, real, fake):
        scores = self.d(torch.cat([real, fake]))
        wanted = torch.cat([torch.ones(len(real)), torch.zeros(len(fake))])
        return bce(scores, wanted)

    def generator_loss(self, fake):
        return bce(self.d(fake), torch.ones(len(fake)))

    def step(self, real):
        fake = self.g(torch.randn(len(real), LATENT))
        d_loss = self.judge_loss(real, fake)
        self.d_opt.zero_grad()
        d_loss.backward()
        self.d_opt.step()
        g_loss = self.generator_loss(fake)
        self.g_opt.zero_grad()
        g_loss.backward()
        self.g_opt.step()
        return d_loss.item(), g_loss.item()


trainer = Trainer()
for i in range(30):
    losses = trainer.step(glyphs(32))
print("judge %.3f  generator %.3f" % losses)
