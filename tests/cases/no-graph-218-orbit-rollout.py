import torch
from torch import nn

torch.manual_seed(18)


class Drift(nn.Module):
    def __init__(self, dims=2, hidden=24):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dims, hidden), nn.Tanh(), nn.Linear(hidden, dims))

    def forward(self, state):
        return self.layers(state)


def rollout(drift, state, steps, dt=0.2):
    predicted = []
    for _ in range(steps):
        k1 = drift(state)
        k2 = drift(state + 0.5 * dt * k1)
        state = state + dt * k2
        predicted.append(state.detach())
    return torch.stack(predicted, dim=1)


def circle(start, steps, dt=0.2):
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
    out = []
    for n in range(1, steps + 1):
        out.append(start @ torch.linalg.matrix_exp(turn * dt * n).t())
    return torch.stack(out, dim=1)


def radius_error(track, start):
    with torch.no_grad():
        return (track.norm(dim=-1) - start.norm(dim=-1, keepdim=True)).abs().mean().item()


drift = Drift()
optimizer = torch.optim.Adam(drift.parameters(), lr=5e-3)
for it in range(60):
    start = torch.randn(16, 2)
    steps = 4 + it // 20
    track = rollout(drift, start, steps)
    loss = nn.functional.mse_loss(track, circle(start, steps))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 20 == 0:
        print(f"{it:3d} loss {loss.item():.4f} radius error {radius_error(track, start):.4f}")
