"""Keep a slow copy of a network (target network, EMA): it gives values, gets no gradient, and follows without a graph."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
RATE, DISCOUNT = 0.05, 0.9
online = nn.Sequential(nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))
target = copy.deepcopy(online).requires_grad_(False).eval()
optimizer = torch.optim.Adam(online.parameters(), lr=5e-3)
mixing = torch.randn(4, 4) / 4
wanted = torch.randn(4, 3)


@torch.no_grad()
def follow(slow, fast, rate):
    """Move the slow network's parameters a little towards the fast one's; buffers are copied."""
    for slow_value, fast_value in zip(slow.parameters(), fast.parameters()):
        slow_value.lerp_(fast_value, rate)
    for slow_value, fast_value in zip(slow.buffers(), fast.buffers()):
        slow_value.copy_(fast_value)


def move():
    """A batch of states, actions, rewards and the states after them."""
    states = torch.randn(64, 4)
    actions = torch.randint(3, (64, 1))
    rewards = torch.tanh(states @ wanted).gather(1, actions).squeeze(1)
    return states, actions, rewards, torch.tanh(states @ mixing)


losses = []
for _ in range(200):
    states, actions, rewards, following = move()
    with torch.no_grad():
        goal = rewards + DISCOUNT * target(following).amax(dim=1)
    chosen = online(states).gather(1, actions).squeeze(1)
    loss = nn.functional.mse_loss(chosen, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    follow(target, online, RATE)
    losses.append(loss.item())

before = target[0].weight.clone()
follow(target, online, RATE)
assert torch.allclose(target[0].weight, before + RATE * (online[0].weight.detach() - before), atol=1e-6)
assert all(value.is_leaf and not value.requires_grad and value.grad is None for value in target.parameters())
assert all(value.grad is not None for value in online.parameters())
assert torch.equal(target[1].running_mean, online[1].running_mean)
assert not any(one is other for one, other in zip(online.parameters(), target.parameters()))

# The goals have moved all the time, and still both networks have come to the same choices.
states = torch.randn(500, 4)
online.eval()
with torch.no_grad():
    agreed = (online(states).argmax(dim=1) == target(states).argmax(dim=1)).float().mean().item()
assert agreed > 0.8
print(f"last loss {losses[-1]:.3f}; the two networks choose the same action in {agreed:.0%} of the states")
