import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)


class GrowingNet(nn.Module):
    def __init__(self, inputs=4, hidden=4):
        super().__init__()
        self.hidden = nn.Linear(inputs, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x))).squeeze(-1)

    def grow(self, extra):
        old_h, old_o = self.hidden, self.out
        size = old_h.out_features + extra
        self.hidden = nn.Linear(old_h.in_features, size)
        self.out = nn.Linear(size, 1)
        with torch.no_grad():
            self.hidden.weight[:-extra].copy_(old_h.weight)
            self.hidden.bias[:-extra].copy_(old_h.bias)
            self.out.weight[:, :-extra].copy_(old_o.weight)
            self.out.bias.copy_(old_o.bias)


def sample(n=64):
    x = torch.randn(n, 4)
    return x, torch.sin(2 * x[:, 0]) * x[:, 1] + x[:, 2].abs()


def train(steps_per_stage=60, stages=4):
    net = GrowingNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for stage in range(stages):
        if stage:
            net.grow(extra=8)
            opt = torch.optim.Adam(net.parameters(), lr=1e-2)
            print("hidden units", net.hidden.out_features)
        for _ in range(steps_per_stage):
            x, y = sample()
            loss = F.mse_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"stage {stage} loss {loss.item():.4f}")
    return net, opt


net, opt = train()
