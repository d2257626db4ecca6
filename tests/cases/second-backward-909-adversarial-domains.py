import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F


class Meter:
    def __init__(self):
        self.sums, self.n = {}, 0

    def update(self, **values):
        self.n += 1
        for key, value in values.items():
            self.sums[key] = self.sums.get(key, 0.0) + float(value)

    def __str__(self):
        return "  ".join(f"{k} {v / self.n:.3f}" for k, v in self.sums.items())


class Adapter:
    def __init__(self, dim=10, width=16, classes=3):
        self.extractor = nn.Sequential(nn.Linear(dim, width), nn.ReLU(), nn.Linear(width, width), nn.Tanh())
        self.task = nn.Linear(width, classes)
        self.critic = nn.Sequential(nn.Linear(width, width), nn.LeakyReLU(0.2), nn.Linear(width, 1))
        self.opt_main = torch.optim.Adam(
            itertools.chain(self.extractor.parameters(), self.task.parameters()), lr=1e-3
        )
        self.opt_critic = torch.optim.Adam(self.critic.parameters(), lr=4e-4, betas=(0.5, 0.9))

    def critic_step(self, source, target):
        self.opt_critic.zero_grad()
        real, fake = self.critic(source), self.critic(target)
        loss = F.softplus(-real).mean() + F.softplus(fake).mean()
        loss.backward()
        self.opt_critic.step()
        return loss

    def main_step(self, source, target, labels):
        self.opt_main.zero_grad()
        task = F.cross_entropy(self.task(source), labels)
        confuse = F.softplus(-self.critic(target)).mean()
        (task + 0.3 * confuse).backward()
        self.opt_main.step()
        return task

    def update(self, xs, ys, xt):
        features = self.extractor(torch.cat([xs, xt]))
        source, target = features.split([len(xs), len(xt)])
        critic = self.critic_step(source, target)
        task = self.main_step(source, target, ys)
        return {"critic": critic, "task": task}


def domain(n, shift):
    x = torch.randn(n, 10) + shift
    return x, (x.sum(1) > 10 * shift).long() + (x[:, 0] > shift).long()


torch.manual_seed(4)
adapter, meter = Adapter(), Meter()
for iteration in range(6):
    xs, ys = domain(12, 0.0)
    xt, _ = domain(8, 0.7)
    meter.update(**adapter.update(xs, ys, xt))
print(meter)
