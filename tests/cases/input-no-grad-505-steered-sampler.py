import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(4)
STEPS = 20
betas = torch.linspace(1e-3, 0.2, STEPS)
keep = torch.cumprod(1 - betas, dim=0)


class TimeNet(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.time = nn.Embedding(STEPS, 16)
        self.net = nn.Sequential(nn.Linear(2 + 16, 48), nn.SiLU(), nn.Linear(48, outputs))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], dim=1))


def rings(count):
    label = torch.randint(2, (count,))
    angle = 6.28 * torch.rand(count)
    radius = 0.5 + label.float()
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1) + 0.05 * torch.randn(count, 2), label


def fit(noise_net, classifier, rounds=60):
    optimizer = torch.optim.Adam([*noise_net.parameters(), *classifier.parameters()], lr=3e-3)
    for _ in range(rounds):
        x, label = rings(128)
        t = torch.randint(STEPS, (128,))
        noise = torch.randn_like(x)
        noisy = keep[t].sqrt()[:, None] * x + (1 - keep[t]).sqrt()[:, None] * noise
        loss = F.mse_loss(noise_net(noisy, t), noise) + F.cross_entropy(classifier(noisy, t), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


def steer(classifier, x, t, label):
    leaf = x.detach().requires_grad_(True)
    centred = leaf - leaf.mean(dim=0, keepdim=True)
    with torch.enable_grad():
        log_probs = F.log_softmax(classifier(centred, t), dim=1)
        chosen = log_probs[torch.arange(len(x)), label].sum()
        return torch.autograd.grad(chosen, centred)[0]


@torch.no_grad()
def sample(noise_net, classifier, label, scale=1.5):
    x = torch.randn(len(label), 2)
    for step in reversed(range(STEPS)):
        t = torch.full((len(label),), step)
        mean = (x - betas[step] / (1 - keep[step]).sqrt() * noise_net(x, t)) / (1 - betas[step]).sqrt()
        mean = mean + betas[step] * scale * steer(classifier, x, t, label)
        x = mean + betas[step].sqrt() * torch.randn_like(x) if step else mean
    return x


noise_net, classifier = TimeNet(2), TimeNet(2)
fit(noise_net, classifier)
points = sample(noise_net, classifier, torch.ones(64, dtype=torch.long))
print("mean radius", round(points.norm(dim=1).mean().item(), 3))
