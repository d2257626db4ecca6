import torch
import torch.nn as nn

torch.manual_seed(104)
policy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
theta = nn.utils.parameters_to_vector(policy.parameters()).detach()


@torch.no_grad()
def score(vector):
    nn.utils.vector_to_parameters(vector, policy.parameters())
    x = torch.linspace(-1, 1, 60).view(20, 3)
    return -(policy(x) - x.sum(dim=1, keepdim=True)).pow(2).mean()


for generation in range(25):
    noise = torch.randn(16, len(theta))
    gains = torch.stack([score(theta + 0.1 * n) - score(theta - 0.1 * n) for n in noise])
    theta = theta + 0.02 / (2 * 16 * 0.1) * (gains[:, None] * noise).sum(dim=0) * 10
    if generation % 8 == 0:
        print(generation, score(theta).item())
