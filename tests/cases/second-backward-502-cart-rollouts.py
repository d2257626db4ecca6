import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(9)


class Track:
    def reset(self):
        self.state = torch.cat([torch.randn(1) * 0.5, torch.zeros(1)])
        return self.state.clone()

    def step(self, action):
        push = 0.1 if action == 1 else -0.1
        self.state[1] = 0.95 * self.state[1] + push
        self.state[0] = self.state[0] + 0.2 * self.state[1]
        return self.state.clone(), -abs(self.state[0].item())


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(2, 24), nn.Tanh())
        self.actor, self.critic = nn.Linear(24, 2), nn.Linear(24, 1)

    def forward(self, states):
        h = self.trunk(states)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


class Rollout:
    def __init__(self):
        self.states, self.actions, self.log_probs, self.rewards = [], [], [], []

    def collect(self, env, policy, length=24):
        state = env.reset()
        for _ in range(length):
            dist, _ = policy(state)
            action = dist.sample()
            self.states.append(state)
            self.actions.append(action)
            self.log_probs.append(dist.log_prob(action))
            state, reward = env.step(action.item())
            self.rewards.append(reward)
        return self

    def tensors(self, gamma=0.97):
        total, returns = 0.0, []
        for reward in reversed(self.rewards):
            total = reward + gamma * total
            returns.insert(0, total)
        return torch.stack(self.states), torch.stack(self.actions), torch.stack(self.log_probs), torch.tensor(returns)


policy, env = Policy(), Track()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for update in range(6):
    states, actions, old, returns = Rollout().collect(env, policy).tensors()
    for epoch in range(4):
        dist, values = policy(states)
        gain = returns - values.detach()
        ratio = (dist.log_prob(actions) - old).exp()
        surrogate = torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        loss = -surrogate + 0.5 * (returns - values).pow(2).mean() - 0.01 * dist.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"update {update}  return {returns[0].item():.2f}")
