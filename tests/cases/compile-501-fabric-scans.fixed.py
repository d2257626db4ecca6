import torch
import torch._functorch.config
import torch.nn as nn
import torch.nn.functional as F


class Codec(nn.Module):
    def __init__(self, pixels=36, width=32, code=6):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(pixels, width), nn.GELU(), nn.Linear(width, code))
        self.decode = nn.Sequential(nn.Linear(code, width), nn.GELU())
        self.last = nn.Linear(width, pixels)

    def forward(self, x):
        return self.last(self.decode(self.encode(x)))


class Judge(nn.Module):
    def __init__(self, pixels=36, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(pixels, width), nn.LeakyReLU(0.2), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def balance(rebuild, realism, weight):
    a = torch.autograd.grad(rebuild, weight, retain_graph=True)[0]
    b = torch.autograd.grad(realism, weight, retain_graph=True)[0]
    return (a.norm() / (b.norm() + 1e-4)).clamp(0, 10).detach()


class Trainer:
    def __init__(self, judge_from=3, backend="aot_eager"):
        self.codec, self.judge = Codec(), Judge()
        torch._functorch.config.donated_buffer = False
        self.forward = torch.compile(self.codec, backend=backend)
        self.judge_from = judge_from
        self.codec_optimizer = torch.optim.Adam(self.codec.parameters(), lr=2e-3)
        self.judge_optimizer = torch.optim.Adam(self.judge.parameters(), lr=2e-3)

    def step(self, index, x):
        rebuilt = self.forward(x)
        loss = F.mse_loss(rebuilt, x)
        if index >= self.judge_from:
            realism = -self.judge(rebuilt).mean()
            loss = loss + 0.5 * balance(loss, realism, self.codec.last.weight) * realism
        self.codec_optimizer.zero_grad()
        loss.backward()
        self.codec_optimizer.step()
        judged = F.softplus(-self.judge(x)).mean() + F.softplus(self.judge(rebuilt.detach())).mean()
        self.judge_optimizer.zero_grad()
        judged.backward()
        self.judge_optimizer.step()
        return loss.item()


def weave(count, side=6):
    grid = torch.arange(side)
    period = 1 + torch.rand(count, 2, 1)
    return (torch.sin(grid * period[:, :1]).transpose(1, 2) * torch.cos(grid * period[:, 1:])).flatten(1)


if __name__ == "__main__":
    torch.manual_seed(38)
    trainer = Trainer()
    for index in range(8):
        print(index, f"{trainer.step(index, weave(32)):.4f}")
