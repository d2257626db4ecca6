import torch
from torch import nn


class Reservoir(nn.Module):
    def __init__(self, n_in, size, radius=0.9, leak=0.4):
        super().__init__()
        self.w_in = nn.Linear(n_in, size)
        self.w_rec = nn.Linear(size, size, bias=False)
        self.leak = leak
        with torch.no_grad():
            self.w_rec.weight.mul_(radius / torch.linalg.eigvals(self.w_rec.weight).abs().max())

    def forward(self, series):
        state = series.new_zeros(series.shape[0], self.w_rec.in_features)
        states = []
        for t in range(series.shape[1]):
            fresh = torch.tanh(self.w_in(series[:, t]) + self.w_rec(state))
            state = (1 - self.leak) * state + self.leak * fresh
            states.append(state)
        return torch.stack(states, dim=1)


class EchoState(nn.Module):
    def __init__(self, n_in, size, n_out):
        super().__init__()
        self.reservoir = Reservoir(n_in, size)
        self.readout = nn.Linear(size, n_out)

    @torch.no_grad()
    def features(self, series):
        return self.reservoir(series)

    def forward(self, series):
        return self.readout(self.features(series))


torch.manual_seed(2)
net = EchoState(1, 40, 1)
optimizer = torch.optim.AdamW(net.readout.parameters(), lr=5e-3, weight_decay=1e-3)
for epoch in range(15):
    phase = torch.rand(8, 1, 1) * 6.28
    wave = torch.sin(torch.arange(41).view(1, -1, 1) * 0.25 + phase)
    prediction = net(wave[:, :-1])
    loss = nn.functional.mse_loss(prediction[:, 10:], wave[:, 11:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("readout error", loss.item())
