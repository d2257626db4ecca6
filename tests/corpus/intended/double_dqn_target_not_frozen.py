import copy

import torch
import torch.nn as nn

torch.manual_seed(5)


class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 24), nn.Tanh())
        self.value, self.advantage = nn.Linear(24, 1), nn.Linear(24, 4)

    def forward(self, s):
        h = self.body(s)
        a = self.advantage(h)
        return self.value(h) + a - a.mean(dim=1, keepdim=True)


net = Q()
target_net = copy.deepcopy(net).eval()
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for step in range(60):
    s, s2 = torch.randn(32, 3), torch.randn(32, 3)
    a = torch.randint(0, 4, (32, 1))
    r = (s.sum(1, keepdim=True) > 0).float() * (a == 1)
    best = net(s2).argmax(dim=1, keepdim=True)
    y = r + 0.95 * target_net(s2).gather(1, best)
    loss = nn.functional.mse_loss(net(s).gather(1, a), y.detach())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if (step + 1) % 15 == 0:
        target_net.load_state_dict(net.state_dict())
        print(step + 1, round(loss.item(), 4))
