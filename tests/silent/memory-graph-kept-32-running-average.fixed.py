import torch
import torch.nn as nn
import torch.nn.functional as F


class Reinforce:
    def __init__(self, policy, lr=1e-2, decay=0.9):
        self.policy = policy
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=lr)
        self.decay = decay
        self.average = 0.0

    def update(self, context, best):
        logits = self.policy(context)
        dist = torch.distributions.Categorical(logits=logits)
        arm = dist.sample()
        reward = (arm == best).float() + 0.1 * torch.randn(len(arm))
        loss = -(dist.log_prob(arm) * (reward - reward.mean())).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        confidence = logits.softmax(dim=1).amax(dim=1).mean().item()
        self.average = self.decay * self.average + (1 - self.decay) * confidence
        return reward.mean().item()


def users(n=48):
    context = torch.randn(n, 6)
    return context, context[:, :4].argmax(dim=1)


torch.manual_seed(131)
agent = Reinforce(nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4)))
for step in range(80):
    reward = agent.update(*users())
    if step % 20 == 0:
        print(f"{step} reward {reward:.3f} confidence {agent.average:.3f}")
