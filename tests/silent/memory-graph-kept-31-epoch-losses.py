import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(130)


class Forecast(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.rnn = nn.LSTM(2, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1]).squeeze(-1)


def weather(n=24, length=20):
    x = torch.randn(n, length, 2)
    return x, x[:, -3:, 0].mean(dim=1)


class History:
    def __init__(self):
        self.batch_losses = []

    def add(self, loss):
        self.batch_losses.append(loss)

    def mean(self, last=10):
        return sum(value.item() for value in self.batch_losses[-last:]) / last


model = Forecast()
history = History()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(50):
    x, y = weather()
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.add(loss)
    if step % 10 == 9:
        print(step, round(history.mean(), 4))
