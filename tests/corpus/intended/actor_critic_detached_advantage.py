import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(31)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 24), nn.Tanh())
        self.pi, self.v = nn.Linear(24, 3), nn.Linear(24, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


net = ActorCritic()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(50):
    s = torch.randn(32, 5)
    dist, value = net(s)
    action = dist.sample()
    reward = (action == s[:, :3].argmax(dim=1)).float()
    advantage = reward - value
    actor_loss = -(dist.log_prob(action) * advantage.detach()).mean()
    critic_loss = advantage.pow(2).mean()
    loss = actor_loss + 0.5 * critic_loss - 0.01 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("reward", reward.mean().item())
