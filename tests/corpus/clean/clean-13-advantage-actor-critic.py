import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class Corridor:
    """Walk to the right end; a step costs a little."""

    def __init__(self, length=8):
        self.length = length

    def reset(self):
        self.place, self.left = self.length // 2, 30
        return self.state()

    def state(self):
        return F.one_hot(torch.tensor(self.place), self.length + 1).float()

    def step(self, action):
        self.place = max(0, min(self.length, self.place + (1 if action == 1 else -1)))
        self.left -= 1
        done = self.place in (0, self.length) or self.left == 0
        return self.state(), float(self.place == self.length) - 0.02, done


class ActorCritic(nn.Module):
    def __init__(self, states, actions=2, width=24):
        super().__init__()
        self.body = nn.Linear(states, width)
        self.policy = nn.Linear(width, actions)
        self.value = nn.Linear(width, 1)

    def forward(self, state):
        hidden = torch.tanh(self.body(state))
        return Categorical(logits=self.policy(hidden)), self.value(hidden).squeeze(-1)


class Rollout:
    def __init__(self):
        self.log_probs, self.values, self.rewards, self.entropies, self.masks = [], [], [], [], []

    def add(self, log_prob, value, reward, entropy, done):
        self.log_probs.append(log_prob)
        self.values.append(value)
        self.rewards.append(torch.tensor(reward))
        self.entropies.append(entropy)
        self.masks.append(torch.tensor(1.0 - float(done)))

    def advantages(self, last, gamma=0.95, lam=0.9):
        values = torch.stack([*self.values, last]).detach()
        gathered, running = [], torch.zeros(())
        for t in reversed(range(len(self.rewards))):
            delta = self.rewards[t] + gamma * values[t + 1] * self.masks[t] - values[t]
            running = delta + gamma * lam * self.masks[t] * running
            gathered.append(running)
        gathered = torch.stack(gathered[::-1])
        return gathered, gathered + values[:-1]


def collect(env, state, net, steps):
    rollout = Rollout()
    for _ in range(steps):
        policy, value = net(state)
        action = policy.sample()
        state, reward, done = env.step(action.item())
        rollout.add(policy.log_prob(action), value, reward, policy.entropy(), done)
        if done:
            state = env.reset()
    with torch.no_grad():
        _, last = net(state)
    return rollout, state, last


def main(updates=6, steps=20):
    torch.manual_seed(2)
    env = Corridor()
    net = ActorCritic(env.length + 1)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3, eps=1e-5)
    state = env.reset()
    for update in range(updates):
        rollout, state, last = collect(env, state, net, steps)
        advantage, target = rollout.advantages(last)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        policy_loss = -(torch.stack(rollout.log_probs) * advantage).mean()
        value_loss = F.mse_loss(torch.stack(rollout.values), target)
        loss = policy_loss + 0.5 * value_loss - 0.01 * torch.stack(rollout.entropies).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        print(update, loss.item(), torch.stack(rollout.rewards).sum().item())


main()
