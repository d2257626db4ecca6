import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)


class QNet(nn.Module):
    def __init__(self, state=4, actions=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(state, 32), nn.ReLU(), nn.Linear(32, actions))

    def forward(self, s):
        return self.net(s)


class Agent:
    def __init__(self, lr=1e-2, gamma=0.9):
        self.gamma = gamma
        self.online = QNet()
        self.target = copy.deepcopy(self.online)
        self.optimizer = torch.optim.Adam(self.target.parameters(), lr=lr)

    def loss(self, s, a, r, s2):
        q = self.online(s).gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            goal = r + self.gamma * self.target(s2).max(dim=1).values
        return F.smooth_l1_loss(q, goal)

    def learn(self, batch):
        loss = self.loss(*batch)
        self.online.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def sync(self):
        self.target.load_state_dict(self.online.state_dict())


def transitions(n=64):
    s = torch.randn(n, 4)
    a = torch.randint(0, 3, (n,))
    return s, a, (s[:, :3].argmax(1) == a).float(), s + 0.1 * torch.randn(n, 4)


agent = Agent()
for step in range(100):
    loss = agent.learn(transitions())
    if step % 10 == 0:
        agent.sync()
    if step % 25 == 0:
        print(step, round(loss, 4))
