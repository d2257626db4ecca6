import itertools

import torch
from torch import nn

torch.manual_seed(77)


def generator(width=12):
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 3, 3, padding=1), nn.Tanh())


def discriminator(width=12):
    return nn.Sequential(nn.Conv2d(3, width, 4, stride=2), nn.LeakyReLU(0.2), nn.Conv2d(width, 1, 3))


class ImagePool:
    def __init__(self, size=20):
        self.size, self.images = size, []

    def query(self, batch):
        self.images.extend(batch.detach().unbind(0))
        self.images = self.images[-self.size:]
        picks = torch.randint(0, len(self.images), (len(batch),))
        return torch.stack([self.images[i] for i in picks])


class CycleModel:
    def __init__(self):
        self.net_ab, self.net_ba = generator(), generator()
        self.judge_a, self.judge_b = discriminator(), discriminator()
        self.opt_g = torch.optim.Adam(itertools.chain(self.net_ab.parameters(), self.net_ba.parameters()), lr=1e-3)
        self.opt_d = torch.optim.Adam(itertools.chain(self.judge_a.parameters(), self.judge_b.parameters()), lr=1e-3)
        self.pool_a, self.pool_b = ImagePool(), ImagePool()

    def set_requires_grad(self, nets, flag=False):
        for net in nets:
            for p in net.parameters():
                p.requires_grad = flag

    def gan(self, verdict, real):
        target = torch.full_like(verdict, float(real))
        return nn.functional.mse_loss(verdict, target)

    def judge_loss(self, judge, real, fake):
        return 0.5 * (self.gan(judge(real), True) + self.gan(judge(fake.detach()), False))

    def optimize(self, a, b):
        fake_b, fake_a = self.net_ab(a), self.net_ba(b)
        self.set_requires_grad([self.judge_a, self.judge_b], False)
        self.opt_g.zero_grad()
        loss_g = self.gan(self.judge_b(fake_b), True) + self.gan(self.judge_a(fake_a), True)
        loss_g = loss_g + 10 * ((self.net_ba(fake_b) - a).abs().mean() + (self.net_ab(fake_a) - b).abs().mean())
        loss_g.backward()
        self.opt_g.step()
        self.set_requires_grad([self.judge_a, self.judge_b], True)
        self.opt_d.zero_grad()
        loss_d = self.judge_loss(self.judge_a, a, self.pool_a.query(fake_a))
        loss_d = loss_d + self.judge_loss(self.judge_b, b, self.pool_b.query(fake_b))
        loss_d.backward()
        self.opt_d.step()
        return loss_g.item(), loss_d.item()


model = CycleModel()
for step in range(6):
    g, d = model.optimize(torch.rand(4, 3, 16, 16), torch.rand(4, 3, 16, 16))
    print(f"{step} G {g:.3f} D {d:.3f}")
