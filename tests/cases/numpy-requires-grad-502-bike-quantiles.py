import numpy as np
import torch
from torch import nn

rng = np.random.RandomState(23)
torch.manual_seed(23)

QUANTILES = np.array([0.1, 0.5, 0.9], dtype=np.float32)


def pinball(predicted, actual):
    error = actual[:, None] - predicted
    levels = torch.from_numpy(QUANTILES)
    return np.maximum(levels * error, (levels - 1) * error).mean()


def coverage(predicted, actual):
    inside = (predicted[:, 0] <= actual) & (actual <= predicted[:, -1])
    return inside.float().mean().item()


def hires(n):
    hour = rng.uniform(0, 24, n).astype(np.float32)
    rain = (rng.rand(n) < 0.3).astype(np.float32)
    count = 3 + np.sin((hour - 8) * np.pi / 12) - 1.5 * rain + rng.gamma(2.0, 0.3, n)
    features = np.stack([np.sin(hour * np.pi / 12), np.cos(hour * np.pi / 12), rain], axis=1)
    return torch.from_numpy(features), torch.from_numpy(count.astype(np.float32))


net = nn.Sequential(
    nn.Linear(3, 24),
    nn.Tanh(),
    nn.Linear(24, len(QUANTILES)),
)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

features, count = hires(512)
for epoch in range(5):
    order = torch.randperm(len(count))
    for rows in order.split(64):
        optimizer.zero_grad()
        loss = pinball(net(features[rows]), count[rows])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}  pinball {loss.item():.3f}")

test_features, test_count = hires(200)
with torch.no_grad():
    print("coverage of the outer band", coverage(net(test_features), test_count))
