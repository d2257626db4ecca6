from dataclasses import dataclass, field

import torch
from torch import nn

torch.manual_seed(31)


class LoadModel(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.cell = nn.GRUCell(2, hidden)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ELU(), nn.Linear(hidden, 1))

    def forward(self, inputs, memory):
        memory = self.cell(inputs, memory)
        return self.head(memory).squeeze(1), memory


@dataclass
class Session:
    model: LoadModel
    regions: int = 6
    lr: float = 2e-3
    memory: torch.Tensor = None
    errors: list = field(default_factory=list)

    def __post_init__(self):
        self.memory = torch.zeros(self.regions, self.model.cell.hidden_size)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=self.lr)

    def observe(self, load, temperature, following):
        inputs = torch.stack([load, temperature], dim=1)
        forecast, self.memory = self.model(inputs, self.memory)
        loss = (forecast - following).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward(retain_graph=True)
        self.optimizer.step()
        self.errors.append(loss.item())


def hours(count, regions=6):
    shift = torch.rand(regions)
    load = torch.zeros(regions)
    for hour in range(count):
        temperature = torch.sin(6.28 * (hour / 24 + shift)) + 0.1 * torch.randn(regions)
        following = 0.6 * load + 0.5 * temperature.abs()
        yield load, temperature, following
        load = following


def main():
    session = Session(LoadModel())
    for reading in hours(72):
        session.observe(*reading)
        if len(session.errors) % 24 == 0:
            day = session.errors[-24:]
            print(f"hour {len(session.errors)}  error {sum(day) / len(day):.4f}")


main()
