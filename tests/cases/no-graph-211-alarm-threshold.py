import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(40)


class AlarmNet(nn.Module):
    def __init__(self, sensors, hidden=16):
        super().__init__()
        self.rnn = nn.GRU(sensors, hidden, batch_first=True)
        self.score = nn.Linear(hidden, 1)
        self.level = nn.Parameter(torch.tensor(0.1))

    def raw(self, window):
        _, h = self.rnn(window)
        return self.score(h[-1]).squeeze(-1)

    def forward(self, window):
        score = self.raw(window)
        return (score > self.level).float()


def windows(count, length=12, sensors=3):
    x = torch.randn(count, length, sensors)
    y = (x[:, -4:, 0].mean(1) + x[:, -4:, 1].mean(1) > 0.3).float()
    return x, y


def f1(decision, y):
    tp = (decision * y).sum().item()
    return 2 * tp / max(decision.sum().item() + y.sum().item(), 1)


train_x, train_y = windows(256)
test_x, test_y = windows(64)
net = AlarmNet(3)
optimizer = torch.optim.RMSprop(net.parameters(), lr=5e-3)

for epoch in range(6):
    perm = torch.randperm(len(train_x))
    for batch in perm.split(64):
        alarm = net(train_x[batch])
        loss = F.mse_loss(alarm, train_y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        decision = (net.raw(test_x) > net.level).float()
    print(f"epoch {epoch}: loss {loss.item():.4f}, f1 {f1(decision, test_y):.3f}")
