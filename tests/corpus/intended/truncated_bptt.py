import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(36)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(1, 16, batch_first=True)
        self.out = nn.Linear(16, 1)

    def forward(self, x, state):
        h, state = self.rnn(x, state)
        return self.out(h), state


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
series = torch.sin(torch.arange(0, 121) * 0.2).repeat(4, 1).unsqueeze(-1)
for epoch in range(3):
    state = None
    for start in range(0, 120, 20):
        x, y = series[:, start:start + 20], series[:, start + 1:start + 21]
        if state is not None:
            state = tuple(s.detach() for s in state)
        output, state = model(x, state)
        loss = F.mse_loss(output, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(epoch, loss.item())
