import time

import torch
from torch import nn

torch.manual_seed(413)


class Evaluation:
    """Evaluation mode for a model, with the time that it took."""

    def __init__(self, model):
        self.model = model

    def __enter__(self):
        self.training = self.model.training
        self.model.eval()
        self.recording = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        self.began = time.perf_counter()
        return self

    def __exit__(self, *exc):
        self.seconds = time.perf_counter() - self.began
        self.model.train(self.training)
        torch.set_grad_enabled(self.recording)


def surveys(count):
    x = torch.rand(count, 5)
    growth = 2 * x[:, 0] * (1 - x[:, 1]) + torch.sin(4 * x[:, 2]) + 0.05 * torch.randn(count)
    return x, growth.unsqueeze(1)


model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
held_x, held_y = surveys(64)

for epoch in range(4):
    for _ in range(10):
        x, y = surveys(32)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with Evaluation(model) as timer:
        held = nn.functional.mse_loss(model(held_x), held_y).item()
    print(f"epoch {epoch}: train {loss.item():.3f} held out {held:.3f}")
