import torch
import torch.nn as nn
import torch.nn.functional as F


def r1(score, real):
    (slope,) = torch.autograd.grad(score.sum(), real, create_graph=True)
    return slope.pow(2).flatten(1).sum(1).mean()


def interpolated(critic, real, fake):
    mix = torch.rand(len(real), *[1] * (real.dim() - 1))
    between = torch.lerp(real, fake, mix).detach().requires_grad_()
    score = critic(between)
    slope = torch.autograd.grad(score, between, torch.ones_like(score), create_graph=True, retain_graph=True)[0]
    return (slope.flatten(1).norm(dim=1) - 1).square().mean()


PENALTIES = {"r1": 0.5, "gp": 10.0}


class Trainer:
    def __init__(self, kind, every=2):
        self.kind, self.every, self.turn = kind, every, 0
        self.generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6))
        self.critic = nn.Sequential(nn.Linear(6, 16), nn.Softplus(), nn.Linear(16, 1))
        self.g_opt = torch.optim.Adam(self.generator.parameters(), 1e-3, (0.0, 0.9))
        self.c_opt = torch.optim.Adam(self.critic.parameters(), 1e-3, (0.0, 0.9))

    def critic_turn(self, real):
        with torch.no_grad():
            fake = self.generator(torch.randn(len(real), 4))
        self.c_opt.zero_grad()
        if self.kind == "r1":
            real = real.clone().requires_grad_(True)
            score = self.critic(real)
            loss = F.softplus(-score).mean() + F.softplus(self.critic(fake)).mean()
            if self.turn % self.every == 0:
                loss = loss + PENALTIES["r1"] * self.every * r1(score, real)
        else:
            loss = self.critic(fake).mean() - self.critic(real).mean()
            loss = loss + PENALTIES["gp"] * interpolated(self.critic, real, fake)
        loss.backward()
        self.c_opt.step()
        self.turn += 1
        return loss.item()

    def generator_turn(self, count):
        self.critic.requires_grad_(False)
        self.g_opt.zero_grad()
        loss = -self.critic(self.generator(torch.randn(count, 4))).mean()
        loss.backward()
        self.g_opt.step()
        self.critic.requires_grad_(True)
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(11)
    for kind in PENALTIES:
        trainer = Trainer(kind)
        for step in range(4):
            values = [trainer.critic_turn(torch.randn(16, 6)) for _ in range(2)]
            print(kind, step, values[-1], trainer.generator_turn(16))
