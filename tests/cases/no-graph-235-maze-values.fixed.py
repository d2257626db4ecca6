import random

import torch
from torch import nn

random.seed(11)
torch.manual_seed(11)


class Maze:
    """A corridor with a prize at the right end."""

    def __init__(self, length=6):
        self.length = length

    def reset(self):
        self.at = 0
        return self.view()

    def view(self):
        return [float(i == self.at) for i in range(self.length)]

    def step(self, action):
        self.at = max(0, min(self.length - 1, self.at + (1 if action else -1)))
        done = self.at == self.length - 1
        return self.view(), 1.0 if done else -0.01, done


class Agent:
    def __init__(self, states, actions=2, gamma=0.9):
        self.online, self.target = nn.Linear(states, actions), nn.Linear(states, actions)
        self.sync()
        self.gamma = gamma
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=0.02)
        self.memory = []

    def sync(self):
        self.target.load_state_dict(self.online.state_dict())


    def q_values(self, net, states):
        return net(torch.tensor(states))

    def act(self, state, eps=0.3):
        if random.random() < eps:
            return random.randrange(2)
        return self.q_values(self.online, state).argmax().item()

    def learn(self, size=32):
        states, actions, rewards, after, done = zip(*random.sample(self.memory, size))
        best = self.q_values(self.target, after).max(dim=1).values.detach()
        goal = torch.tensor(rewards) + self.gamma * best * (1 - torch.tensor(done).float())
        chosen = self.q_values(self.online, states).gather(1, torch.tensor(actions)[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(chosen, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


maze, agent = Maze(), Agent(6)
for episode in range(12):
    state, done, steps = maze.reset(), False, 0
    while not done and steps < 40:
        action = agent.act(state)
        after, reward, done = maze.step(action)
        agent.memory.append((state, action, reward, after, done))
        state, steps = after, steps + 1
        if len(agent.memory) >= 64:
            value = agent.learn()
    agent.sync()
    print(episode, steps, "done" if done else "stopped")
