import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)


class Actor(nn.Module):
    def __init__(self, obs=3, act=1):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 32), nn.ReLU(), nn.Linear(32, act), nn.Tanh())

    def forward(self, obs):
        return self.net(obs)


class Critic(nn.Module):
    def __init__(self, obs=3, act=1):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs + act, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, obs, act):
        return self.net(torch.cat([obs, act], 1))


class Replay:
    def __init__(self, capacity=500):
        self.rows, self.capacity = [], capacity

    def push(self, *row):
        self.rows.append([torch.as_tensor(v, dtype=torch.float32).detach().view(-1) for v in row])
        self.rows = self.rows[-self.capacity:]

    def sample(self, size):
        picks = torch.randint(0, len(self.rows), (size,)).tolist()
        return [torch.stack(column) for column in zip(*(self.rows[i] for i in picks))]


class Agent:
    def __init__(self, gamma=0.97, delay=2):
        self.actor, self.critic = Actor(), Critic()
        self.target_actor, self.target_critic = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.opt_actor = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.opt_critic = torch.optim.Adam(self.critic.parameters(), lr=2e-3)
        self.gamma, self.delay, self.updates = gamma, delay, 0

    @torch.no_grad()
    def act(self, obs, noise=0.2):
        return (self.actor(obs[None])[0] + noise * torch.randn(1)).clamp(-1, 1)

    def learn(self, batch):
        obs, act, reward, following = batch
        with torch.no_grad():
            goal = reward + self.gamma * self.target_critic(following, self.target_actor(following))
        critic_loss = F.mse_loss(self.critic(obs, act), goal)
        self.opt_critic.zero_grad()
        critic_loss.backward()
        self.opt_critic.step()
        self.updates += 1
        if self.updates % self.delay == 0:
            self.critic.requires_grad_(False)
            actor_loss = -self.critic(obs, act).mean()
            self.opt_actor.zero_grad()
            actor_loss.backward()
            self.opt_actor.step()
            self.critic.requires_grad_(True)
            for kept, new in ((self.target_actor, self.actor), (self.target_critic, self.critic)):
                for a, b in zip(kept.parameters(), new.parameters()):
                    a.data.lerp_(b.data, 0.02)
        return critic_loss.item()


agent, replay, obs = Agent(), Replay(), torch.randn(3)
for step in range(120):
    act = agent.act(obs)
    following = (0.95 * obs + 0.1 * act).clamp(-2, 2) + 0.02 * torch.randn(3)
    replay.push(obs, act, -following.square().sum().item(), following)
    obs = following
    if step >= 32:
        loss = agent.learn(replay.sample(32))
        if step % 20 == 0:
            print(f"step {step} critic {loss:.4f}")
