import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(160)


class Recorder:
    def __init__(self):
        self.columns = {}

    def log(self, **values):
        for name, value in values.items():
            self.columns.setdefault(name, []).append(value)

    def summary(self):
        return {name: round(torch.stack(values[-5:]).mean().item(), 4) for name, values in self.columns.items()}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, 5, padding=2)
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        h = F.relu(self.conv(x))
        return self.out(h.mean(dim=-1)), h


def pulses(n=16):
    y = torch.randint(0, 2, (n,))
    return torch.randn(n, 1, 30) * (0.5 + y.view(-1, 1, 1)), y


def main(steps=40):
    net, recorder = Net(), Recorder()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(steps):
        x, y = pulses()
        logits, h = net(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recorder.log(loss=loss.detach(), activity=h.detach().mean(), margin=(logits[:, 1] - logits[:, 0]).detach().abs().mean())
        if step % 10 == 9:
            print(step, recorder.summary())
    return net, recorder


net, recorder = main()
