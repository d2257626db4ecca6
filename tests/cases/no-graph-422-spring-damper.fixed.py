import torch
from torch import nn

torch.manual_seed(422)


class SpringDamper(nn.Module):
    def __init__(self, dt=0.05):
        super().__init__()
        self.stiffness = nn.Parameter(torch.tensor(4.0))
        self.damping = nn.Parameter(torch.tensor(0.2))
        self.dt = dt

    def transition(self):
        k, c = self.stiffness, self.damping
        rows = [[0.0, 1.0], [-k, -c]]
        return torch.matrix_exp(torch.stack([torch.stack([torch.as_tensor(v) for v in row]) for row in rows]) * self.dt)

    def forward(self, start, steps):
        advance = self.transition().t()
        state, path = start, []
        for _ in range(steps):
            state = state @ advance
            path.append(state)
        return torch.stack(path, dim=1)


def recordings(count=12, steps=40):
    truth = SpringDamper()
    with torch.no_grad():
        truth.stiffness.fill_(7.0)
        truth.damping.fill_(0.6)
        start = torch.randn(count, 2)
        path = truth(start, steps)
    return start, path + 0.01 * torch.randn_like(path)


def identify(model, start, path, rounds=60):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

    def objective():
        return (model(start, path.shape[1]) - path).square().mean()

    for n in range(rounds):
        loss = objective()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if n % 20 == 0:
            print(f"round {n} loss {loss.item():.5f}")
    return {name: round(p.item(), 3) for name, p in model.named_parameters()}


print(identify(SpringDamper(), *recordings()))
