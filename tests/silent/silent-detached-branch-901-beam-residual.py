import math

import torch
from torch import nn


class Field(nn.Module):
    """Deflection of a clamped beam as a function of the position."""

    def __init__(self, width=24, depth=3):
        super().__init__()
        sizes = [1] + [width] * depth
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        for layer in self.hidden:
            x = torch.tanh(layer(x))
        return self.out(x)


def slope(u, x):
    (g,) = torch.autograd.grad(u, x, torch.ones_like(u))
    return g


class BeamProblem:
    def __init__(self, field, n=32):
        self.field = field
        self.x = torch.linspace(0, 1, n).unsqueeze(1)
        self.measured = 0.2 * (1 - torch.cos(math.pi * self.x))
        self.end = torch.zeros(1, 1, requires_grad=True)

    def data_term(self):
        return (self.field(self.x) - self.measured).pow(2).mean()

    def anchor_term(self):
        return self.field(self.end.detach()).pow(2).mean()

    def slope_term(self):
        u = self.field(self.end)
        return slope(u, self.end).pow(2).mean()

    def terms(self):
        return {"data": self.data_term(), "anchor": self.anchor_term(), "slope": self.slope_term()}


torch.manual_seed(11)
problem = BeamProblem(Field())
optimizer = torch.optim.Adam(problem.field.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 40, gamma=0.5)
slope_terms = []
for it in range(80):
    optimizer.zero_grad()
    terms = problem.terms()
    loss = 10 * terms["data"] + terms["anchor"] + 0.1 * terms["slope"]
    loss.backward()
    optimizer.step()
    scheduler.step()
    slope_terms.append(terms["slope"].requires_grad)
    if it % 20 == 0:
        print(it, " ".join(f"{k}={v.item():.2e}" for k, v in terms.items()))
assert not slope_terms[-1]
