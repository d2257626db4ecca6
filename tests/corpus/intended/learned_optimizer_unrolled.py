import torch
from torch import nn


class UpdateRule(nn.Module):
    """An LSTM that turns the gradient of each coordinate into its update."""

    def __init__(self, hidden=8):
        super().__init__()
        self.cell = nn.LSTMCell(1, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, gradient, state):
        h, c = self.cell(gradient.detach().unsqueeze(1), state)
        return 0.1 * self.out(h).squeeze(1), (h, c)


class Quadratic:
    def __init__(self, n=6):
        self.matrix, self.vector = torch.randn(n, n) / n**0.5, torch.randn(n)
        self.n = n

    def __call__(self, theta):
        return (self.matrix @ theta - self.vector).pow(2).mean()


def unroll(rule, problem, theta, state, length):
    total = 0.0
    for _ in range(length):
        loss = problem(theta)
        total = total + loss
        (gradient,) = torch.autograd.grad(loss, theta, retain_graph=True)
        update, state = rule(gradient, state)
        theta = theta + update
    return total + problem(theta), theta, state


torch.manual_seed(9)
rule = UpdateRule()
optimizer = torch.optim.Adam(rule.parameters(), lr=5e-3)
for episode in range(6):
    problem = Quadratic()
    theta, state = torch.randn(problem.n, requires_grad=True), None
    curve = []
    for _ in range(3):
        total, theta, state = unroll(rule, problem, theta, state, length=5)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        theta = theta.detach().requires_grad_(True)
        state = tuple(s.detach() for s in state)
        curve.append(round(total.item() / 6, 3))
    print(episode, curve)
