import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(95)


class Sequencer(nn.Module):
    def __init__(self, hidden=20):
        super().__init__()
        self.rnn = nn.RNN(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1]).squeeze(-1)


def adding_problem(n=32, length=15):
    x = 10 * torch.rand(n, length, 1)
    return x, x[:, 0, 0] + x[:, 4, 0]


def optimise(optimizer, params, loss, max_norm, log):
    optimizer.zero_grad()
    loss.backward()
    log.append(nn.utils.clip_grad_norm_(params, max_norm).item())
    optimizer.step()


model = Sequencer()
optimizer = torch.optim.SGD(model.parameters(), lr=2e-3)
norms = []
max_norm = 20.0
for step in range(40):
    x, y = adding_problem()
    loss = F.mse_loss(model(x), y)
    optimise(optimizer, list(model.parameters()), loss, max_norm, norms)
    if step % 10 == 0:
        print(step, f"loss {loss.item():.3f} norm {norms[-1]:.3f}")
