import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(17)


class Driver(nn.Module):
    def __init__(self, state=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(state, 16), nn.Tanh())
        self.mean = nn.Linear(16, 1)
        self.log_std = nn.Parameter(torch.full((1,), -1.0))

    def forward(self, state):
        return Normal(self.mean(self.body(state)).squeeze(-1), self.log_std.exp())


def drive(driver, position, target, steps=8, dt=0.3):
    speed = torch.zeros_like(position)
    cost = torch.zeros_like(position)
    for _ in range(steps):
        policy = driver(torch.stack([position, speed, target], dim=1))
        push = policy.rsample()
        speed = 0.9 * speed + dt * push
        position = position + dt * speed
        cost = cost + (position - target) ** 2 + 0.01 * push ** 2
    return cost.mean(), position


driver = Driver()
optimizer = torch.optim.Adam(driver.parameters(), lr=0.01)
for it in range(40):
    start, target = torch.randn(64), torch.randn(64)
    cost, end = drive(driver, start, target)
    optimizer.zero_grad()
    cost.backward()
    nn.utils.clip_grad_norm_(driver.parameters(), 1.0)
    optimizer.step()
    if it % 10 == 0:
        miss = (end.detach() - target).abs().mean().item()
        print(f"{it:2d} cost {cost.item():.3f} miss {miss:.3f} std {driver.log_std.exp().item():.3f}")
