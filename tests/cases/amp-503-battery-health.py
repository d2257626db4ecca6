import copy

import torch
from torch import nn


class HealthNet(nn.Module):
    def __init__(self, channels=3, width=16):
        super().__init__()
        self.cycle = nn.Conv1d(channels, width, 5, stride=2)
        self.mix = nn.Conv1d(width, width, 3)
        self.out = nn.Linear(width, 1)

    def forward(self, cycles):
        h = torch.relu(self.mix(torch.relu(self.cycle(cycles))))
        return self.out(h.mean(-1)).squeeze(-1)


class Session:
    def __init__(self, factory, lr=2e-3):
        self.model = factory()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
        self.best, self.best_error = copy.deepcopy(self.model), float("inf")

    def train(self, batches):
        self.model.train()
        for cycles, health in batches:
            self.optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.smooth_l1_loss(self.model(cycles).float(), health)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()

    @torch.no_grad()
    def validate(self, batches):
        self.model.eval()
        error = sum((self.model(cycles) - health).abs().mean().item() for cycles, health in batches)
        if error < self.best_error:
            self.best, self.best_error = copy.deepcopy(self.model), error
        else:
            self.model = copy.deepcopy(self.best)
        return error


def cells(batches, noise=0.1, size=24):
    for _ in range(batches):
        health = torch.rand(size)
        curve = torch.linspace(1, 0, 40) ** (1 + health[:, None])
        yield curve[:, None] + noise * torch.randn(size, 3, 40), health


def main(epochs=12):
    torch.manual_seed(26)
    session = Session(HealthNet, lr=3e-2)
    held_out = list(cells(3))
    for epoch in range(epochs):
        session.train(cells(4))
        error = session.validate(held_out)
        print(f"epoch {epoch}: {error:.4f} (best {session.best_error:.4f})")


if __name__ == "__main__":
    main()
