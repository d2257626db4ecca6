"""A Hamiltonian network: the motion is what the gradient of a learned energy says."""

import torch
from torch import nn


class Energy(nn.Module):
    def __init__(self, dims=2, width=48):
        super().__init__()
        layers, size = [], 2 * dims
        for _ in range(2):
            layers += [nn.Linear(size, width), nn.Softplus()]
            size = width
        self.net = nn.Sequential(*layers, nn.Linear(size, 1))

    def forward(self, state):
        return self.net(state).sum()


class Flow(nn.Module):
    def __init__(self, energy, dims=2):
        super().__init__()
        self.energy = energy
        eye, zero = torch.eye(dims), torch.zeros(dims, dims)
        self.register_buffer("swap", torch.cat([torch.cat([zero, eye], 1), torch.cat([-eye, zero], 1)]))

    def forward(self, state):
        state = state.requires_grad_(True)
        energy = self.energy(state)
        (slope,) = torch.autograd.grad(energy, state)
        return slope @ self.swap.T


def true_motion(state, k=1.5):
    q, p = state.chunk(2, dim=-1)
    pull = torch.stack([k * (q[:, 0] - q[:, 1]) + q[:, 0], k * (q[:, 1] - q[:, 0]) + q[:, 1]], dim=-1)
    return torch.cat([p, -pull], dim=-1)


def sample(count):
    state = torch.randn(count, 4)
    return state, true_motion(state)


def evaluate(flow):
    state, motion = sample(64)
    return nn.functional.l1_loss(flow(state), motion).item()


def main():
    torch.manual_seed(1)
    flow = Flow(Energy())
    optimizer = torch.optim.Adam(flow.parameters(), lr=2e-3, weight_decay=1e-6)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 30)
    for step in range(30):
        state, motion = sample(128)
        error = flow(state) - motion
        loss = error.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 10 == 0:
            print(step, loss.item(), evaluate(flow))


main()
