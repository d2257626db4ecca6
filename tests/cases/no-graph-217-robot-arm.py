import torch
from torch import nn


class Arm(nn.Module):
    """Maps a goal in the plane to two joint angles."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, goals):
        return self.net(goals)


def hand(angles, upper=1.0, fore=0.8):
    shoulder, elbow = angles.unbind(-1)
    x = upper * torch.cos(shoulder) + fore * torch.cos(shoulder + elbow)
    y = upper * torch.sin(shoulder) + fore * torch.sin(shoulder + elbow)
    return torch.stack([x, y], dim=-1)


def joint_error(arm, goals):
    reached = hand(arm(goals))
    return (reached - goals).pow(2).sum(-1).mean().detach()


class Session:
    def __init__(self, arm, lr=0.01):
        self.arm = arm
        self.opt = torch.optim.Adam(arm.parameters(), lr=lr)
        self.rows = []

    def log(self, tag, goals):
        self.rows.append((tag, joint_error(self.arm, goals).item()))

    def step(self, goals):
        loss = joint_error(self.arm, goals)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()


def goals(count):
    radius = 0.5 + 1.1 * torch.rand(count, 1)
    angle = 3.1416 * torch.rand(count, 1)
    return torch.cat([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1)


torch.manual_seed(22)
session = Session(Arm())
check = goals(64)
session.log("start", check)
for n in range(40):
    session.step(goals(32))
    if n % 10 == 9:
        session.log(f"step {n + 1}", check)
for tag, error in session.rows:
    print(f"{tag:>8}: {error:.4f}")
