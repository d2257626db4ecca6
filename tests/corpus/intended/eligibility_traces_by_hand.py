import torch
from torch import nn


class TDLambda:
    """Values of a random walk; the trace of each weight fades and the error moves the weights along it."""

    def __init__(self, net, lr=0.05, gamma=1.0, lam=0.8):
        self.net, self.lr, self.gamma, self.lam = net, lr, gamma, lam
        self.start_episode()

    def start_episode(self):
        self.traces = [torch.zeros_like(p) for p in self.net.parameters()]

    def observe(self, state, reward, following):
        value = self.net(state)
        self.net.zero_grad()
        value.backward()
        with torch.no_grad():
            ahead = self.net(following) if following is not None else torch.zeros(())
            delta = reward + self.gamma * ahead - value
            for trace, p in zip(self.traces, self.net.parameters()):
                trace.mul_(self.gamma * self.lam).add_(p.grad)
                p.add_(self.lr * delta * trace)
        return delta.item()


def walk(length=7):
    at = length // 2
    while True:
        step = at + (1 if torch.rand(()) < 0.5 else -1)
        if step < 0 or step == length:
            yield at, float(step == length), None
            return
        yield at, 0.0, step
        at = step


class Value(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(7, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x):
        return self.body(x).squeeze(-1)


torch.manual_seed(12)
agent = TDLambda(Value())
one_hot = torch.eye(7)
for episode in range(12):
    agent.start_episode()
    errors = [abs(agent.observe(one_hot[s], r, None if n is None else one_hot[n])) for s, r, n in walk()]
    print(episode, len(errors), round(sum(errors) / len(errors), 3))
