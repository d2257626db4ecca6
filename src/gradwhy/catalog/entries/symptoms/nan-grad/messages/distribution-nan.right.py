import torch

policy = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
states, rewards = torch.randn(8, 4), torch.zeros(8)
for _ in range(2):
    mean, log_std = policy(states).unbind(1)
    chosen = torch.distributions.Normal(mean, log_std.exp())
    advantage = (rewards - rewards.mean()) / (rewards.std() + 1e-8)
    loss = -(chosen.log_prob(torch.zeros(8)) * advantage).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
