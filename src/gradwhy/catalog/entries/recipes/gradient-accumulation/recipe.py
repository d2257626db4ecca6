"""Train with batches larger than memory holds: gradients of micro-batches add up, and one step is made of them."""

import copy

import torch
from torch import nn
from torch.nn.functional import cross_entropy

torch.manual_seed(0)
MICRO, PARTS = 16, 4
data = torch.randn(500, 12)
labels = (data[:, :3].sum(dim=1) > 0).long()


def groups(order):
    """Micro-batches, as many as make one step; the last group may be smaller."""
    parts = order.split(MICRO)
    for start in range(0, len(parts), PARTS):
        yield parts[start : start + PARTS]


def train(model, epochs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    means = []
    for _ in range(epochs):
        seen = 0.0
        for group in groups(torch.randperm(len(data))):
            count = sum(len(part) for part in group)
            optimizer.zero_grad()
            for part in group:
                loss = cross_entropy(model(data[part]), labels[part], reduction="sum") / count
                loss.backward()
                seen += loss.item() * count
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
        means.append(seen / len(data))
    return means


model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
means = train(model, epochs=6)
assert means[-1] < 0.5 * means[0]

# The sum over micro-batches is the gradient of the whole batch, though the parts are of different sizes.
whole = copy.deepcopy(model)
model.zero_grad()
whole.zero_grad()
group = torch.arange(40).split(MICRO)
for part in group:
    (cross_entropy(model(data[part]), labels[part], reduction="sum") / 40).backward()
cross_entropy(whole(data[:40]), labels[:40]).backward()
for one, other in zip(model.parameters(), whole.parameters()):
    assert torch.allclose(one.grad, other.grad, atol=1e-6)
print(f"loss {means[0]:.3f} -> {means[-1]:.3f} with steps of {MICRO * PARTS} samples in parts of {MICRO}")
