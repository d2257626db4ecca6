"""Attack a classifier by its input (FGSM, PGD): the gradient of the loss with respect to the input, step by step."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
centre = torch.tensor([1.0] * 4 + [0.2] * 36)
spread = torch.tensor([0.8] * 4 + [0.2] * 36)


def batch(count):
    """Two classes, ± centre: far apart in a few coordinates, a little apart in many, which an attack can turn round."""
    labels = torch.randint(2, (count,))
    return (labels * 2 - 1).unsqueeze(1) * centre + spread * torch.randn(count, 40), labels


def input_gradient(model, inputs, labels):
    """The gradient of the summed loss with respect to the inputs only: no parameter's .grad is touched."""
    inputs = inputs.detach().requires_grad_(True)
    loss = cross_entropy(model(inputs), labels, reduction="sum")
    (gradient,) = torch.autograd.grad(loss, inputs)
    return gradient


def fgsm(model, inputs, labels, radius):
    return inputs + radius * input_gradient(model, inputs, labels).sign()


def pgd(model, inputs, labels, radius, steps=10):
    attacked = inputs + torch.empty_like(inputs).uniform_(-radius, radius)
    for _ in range(steps):
        moved = attacked + radius / 4 * input_gradient(model, attacked, labels).sign()
        attacked = inputs + (moved - inputs).clamp(-radius, radius)
    return attacked


def train(steps, radius=0.0):
    for _ in range(steps):
        inputs, labels = batch(128)
        if radius:
            inputs = pgd(model, inputs, labels, radius, steps=5)
        loss = cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def accuracy(inputs, labels):
    with torch.no_grad():
        return (model(inputs).argmax(dim=1) == labels).float().mean().item()


train(60)
inputs, labels = batch(500)
clean = accuracy(inputs, labels)
before = [parameter.grad.clone() for parameter in model.parameters()]
weak = fgsm(model, inputs, labels, radius=0.3)
strong = pgd(model, inputs, labels, radius=0.3)
attacked = accuracy(strong, labels)

assert clean > 0.95 and accuracy(weak, labels) < clean and attacked < clean
assert (strong - inputs).abs().max() <= 0.3 + 1e-6, "the attack stays within its radius"
assert not weak.requires_grad and not strong.requires_grad, "no graph goes from step to step"
for parameter, gradient in zip(model.parameters(), before):
    assert torch.equal(parameter.grad, gradient), "an attack leaves the gradients of the model alone"
with torch.no_grad():
    raised = cross_entropy(model(weak), labels) - cross_entropy(model(inputs), labels)
assert raised > 0, "the attack raises the loss"

train(80, radius=0.3)
hardened = accuracy(pgd(model, inputs, labels, radius=0.3), labels)
assert hardened > 0.8 > attacked, "training on attacked inputs helps"
print(f"accuracy {clean:.2f} clean, {attacked:.2f} attacked, {hardened:.2f} attacked after adversarial training")
