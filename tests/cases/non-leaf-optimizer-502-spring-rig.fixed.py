from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Settings:
    dt: float = 0.02
    steps: int = 120
    dtype: torch.dtype = torch.float64
    guess: list = field(default_factory=lambda: [1.0, 0.1])


class Rig:
    """A mass on a spring with damping; stiffness and damping are identified from a recording."""

    def __init__(self, settings):
        self.settings = settings
        self.constants = nn.Parameter(torch.tensor(settings.guess, dtype=settings.dtype))

    def acceleration(self, position, velocity):
        stiffness, damping = self.constants
        return -stiffness * position - damping * velocity

    def rollout(self, position, velocity):
        for _ in range(self.settings.steps):
            velocity = velocity + self.settings.dt * self.acceleration(position, velocity)
            position = position + self.settings.dt * velocity
            yield position


def record(settings):
    true = Rig(settings)
    true.constants = torch.tensor([4.0, 0.5], dtype=settings.dtype)
    start = torch.ones(1, dtype=settings.dtype), torch.zeros(1, dtype=settings.dtype)
    return torch.stack(list(true.rollout(*start)))


class Identification:
    def __init__(self, rig, measured, lr=0.05):
        self.rig, self.measured = rig, measured
        self.groups = [{"params": [rig.constants], "lr": lr, "alpha": 0.9}]

    def run(self, rounds=25):
        optimizer = torch.optim.RMSprop(self.groups)
        for r in range(rounds):
            start = torch.ones_like(self.measured[0]), torch.zeros_like(self.measured[0])
            simulated = torch.stack(list(self.rig.rollout(*start)))
            loss = (simulated - self.measured).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if r % 5 == 0:
                print(f"{r:2d} error {loss.item():.5f} constants {self.rig.constants.tolist()}")


if __name__ == "__main__":
    torch.manual_seed(0)
    settings = Settings()
    Identification(Rig(settings), record(settings)).run()
