"""Learn a policy from sampled actions: REINFORCE with a baseline, then an actor with a critic (advantage actor-critic)."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
CELLS, GOAL, DISCOUNT = 6, 5, 0.9


def step(cells, actions):
    """A corridor: action 1 goes right, 0 left. Cells after the move, rewards, and which of them ended at the goal."""
    cells = (cells + 2 * actions - 1).clamp(0, CELLS - 1)
    ended = cells == GOAL
    return cells, ended.float(), ended


def seen(cells):
    return nn.functional.one_hot(cells, CELLS).float()


def reinforce(policy, baseline, optimizer, walks=64, length=12):
    """One step on whole walks: each action's log-probability, weighted by how much better it went than expected."""
    cells, alive = torch.zeros(walks, dtype=torch.long), torch.ones(walks)
    logs, values, rewards, lives = [], [], [], []
    for _ in range(length):
        actions_of = Categorical(logits=policy(seen(cells)))
        actions = actions_of.sample()
        logs.append(actions_of.log_prob(actions))
        values.append(baseline(seen(cells)).squeeze(1))
        cells, reward, ended = step(cells, actions)
        rewards.append(reward * alive)
        lives.append(alive)
        alive = alive * (~ended).float()
    back, returns = torch.zeros(walks), []
    for reward in reversed(rewards):
        back = reward + DISCOUNT * back
        returns.insert(0, back)
    logs, values, returns, lives = map(torch.stack, (logs, values, returns, lives))
    advantage = (returns - values).detach()
    policy_loss = -(logs * advantage * lives).sum() / lives.sum()
    baseline_loss = ((values - returns).square() * lives).sum() / lives.sum()
    optimizer.zero_grad()
    (policy_loss + baseline_loss).backward()
    optimizer.step()
    return returns[0].mean().item()


def actor_critic(actor, critic, actor_optimizer, critic_optimizer, cells):
    """One step on one move: the critic's estimate after the move stands for the rest of the walk."""
    actions_of = Categorical(logits=actor(seen(cells)))
    actions = actions_of.sample()
    after, reward, ended = step(cells, actions)
    value = critic(seen(cells)).squeeze(1)
    with torch.no_grad():
        target = reward + DISCOUNT * critic(seen(after)).squeeze(1) * (~ended).float()
    critic_loss = (value - target).square().mean()
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
    advantage = (target - value).detach()
    actor_loss = -(actions_of.log_prob(actions) * advantage).mean() - 0.01 * actions_of.entropy().mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
    return torch.where(ended, torch.zeros_like(after), after)


policy, baseline = nn.Linear(CELLS, 2), nn.Linear(CELLS, 1)
optimizer = torch.optim.Adam([*policy.parameters(), *baseline.parameters()], lr=0.05)
went = [reinforce(policy, baseline, optimizer) for _ in range(60)]

actor, critic = nn.Linear(CELLS, 2), nn.Linear(CELLS, 1)
optimizers = torch.optim.Adam(actor.parameters(), lr=0.05), torch.optim.Adam(critic.parameters(), lr=0.05)
cells = torch.randint(CELLS - 1, (64,))
for _ in range(150):
    cells = actor_critic(actor, critic, *optimizers, cells)

best = DISCOUNT ** (GOAL - 1)
right = [network(torch.eye(CELLS)[:GOAL]).softmax(dim=1)[:, 1].mean().item() for network in (policy, actor)]
assert went[-1] > 0.8 * best and went[0] < 0.5 * best
assert min(right) > 0.8, "both have learnt to go right"

# log_prob gives the gradient that is known for a softmax: the action that was taken, less the probabilities.
logits = torch.randn(3, requires_grad=True)
(gradient,) = torch.autograd.grad(Categorical(logits=logits).log_prob(torch.tensor(1)), logits)
assert torch.allclose(gradient, torch.eye(3)[1] - logits.softmax(dim=0), atol=1e-6)
print(f"return {went[0]:.2f} -> {went[-1]:.2f} of {best:.2f}; goes right with {right[0]:.2f} and {right[1]:.2f}")
