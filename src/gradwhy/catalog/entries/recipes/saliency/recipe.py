"""Ask which pixels a class score depends on: the gradient of the score with respect to the image."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 2)
)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def batch(count):
    """Noise; images of class 1 have a bright square at rows and columns 2 to 3."""
    labels = torch.randint(2, (count,))
    images = 0.5 * torch.randn(count, 1, 8, 8)
    images[:, :, 2:4, 2:4] += 2.0 * labels.view(-1, 1, 1, 1)
    return images, labels


for _ in range(60):
    images, labels = batch(64)
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

model.eval()


def saliency(images, targets):
    """|d score / d pixel| of each image's own target class, of shape (batch, height, width)."""
    images = images.detach().clone().requires_grad_(True)
    scores = model(images)
    chosen = scores.gather(1, targets.unsqueeze(1))
    (gradient,) = torch.autograd.grad(chosen.sum(), images)
    return gradient.abs().amax(dim=1)


images, labels = batch(256)
with torch.no_grad():
    predicted = model(images).argmax(dim=1)
optimizer.zero_grad()
maps = saliency(images, predicted)

assert (predicted == labels).float().mean() > 0.95
assert maps.shape == (256, 8, 8) and not maps.requires_grad
mean = maps.mean(dim=0)
inside, outside = mean[2:4, 2:4].mean(), (mean.sum() - mean[2:4, 2:4].sum()) / 60
assert inside > 3 * outside, "the score depends on the square"
assert all(parameter.grad is None for parameter in model.parameters()), "only the images were asked for"
assert not images.requires_grad, "the caller's images are as they were"

# Each image's gradient is its own: images of a batch do not depend on each other here.
assert torch.allclose(saliency(images[:1], predicted[:1]), maps[:1], atol=1e-6)
print(f"mean saliency: {inside.item():.3f} on the square, {outside.item():.3f} elsewhere")
