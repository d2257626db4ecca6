import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(36)


class Harbour:
    """A boat drifts; rudder and throttle bring it to the origin."""

    def __init__(self, seed=36):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.position, self.t = self.rng.normal(size=2), 0
        return self.position.astype(np.float32)

    def step(self, action):
        command = np.clip(np.asarray(action, dtype=np.float64), -1.0, 1.0)
        self.position = self.position + 0.3 * command + 0.02 * self.rng.normal(size=2)
        self.t += 1
        reward = -float(np.linalg.norm(self.position))
        return self.position.astype(np.float32), reward, self.t >= 8


class Steering:
    def __init__(self, noise=0.2, gamma=0.9):
        self.noise, self.gamma = noise, gamma
        self.actor = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
        self.opt_actor = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.opt_critic = torch.optim.Adam(self.critic.parameters(), lr=3e-3)

    def value(self, state, action):
        return self.critic(torch.cat([state, action], dim=-1)).squeeze(-1)

    def choose(self, state):
        action = self.actor(torch.as_tensor(state)).detach()
        return action + self.noise * torch.randn(2)

    def learn(self, state, action, reward, following):
        with torch.no_grad():
            target = reward + self.gamma * self.value(following, self.actor(following))
        critic_loss = (self.value(state, action) - target).pow(2).mean()
        self.opt_critic.zero_grad()
        critic_loss.backward()
        self.opt_critic.step()
        self.opt_actor.zero_grad()
        (-self.value(state, self.actor(state)).mean()).backward()
        self.opt_actor.step()


harbour, steering = Harbour(), Steering()
for episode in range(12):
    state, done, steps = harbour.reset(), False, []
    while not done:
        action = steering.choose(state)
        following, reward, done = harbour.step(action)
        steps.append((torch.as_tensor(state), action, torch.tensor(reward), torch.as_tensor(following)))
        state = following
    steering.learn(*(torch.stack(column) for column in zip(*steps)))
print(f"last distance {-reward:.3f}")
