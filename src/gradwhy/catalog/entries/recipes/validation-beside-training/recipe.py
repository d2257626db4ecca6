"""Validate after each epoch without touching the training: modes, gradients, statistics and the best weights."""

import copy

import torch
from torch import nn
from torch.nn.functional import cross_entropy

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
centres = torch.randn(3, 10)


def batches(count):
    for _ in range(count):
        labels = torch.randint(3, (32,))
        yield centres[labels] + torch.randn(32, 10), labels


held_back = list(batches(8))


@torch.no_grad()
def validate(model):
    """Mean loss and accuracy, as numbers. The model is left in the mode that it was in."""
    was_training = model.training
    model.eval()
    total, right, count = 0.0, 0, 0
    for inputs, labels in held_back:
        outputs = model(inputs)
        total += cross_entropy(outputs, labels, reduction="sum").item()
        right += (outputs.argmax(dim=1) == labels).sum().item()
        count += len(labels)
    model.train(was_training)
    return total / count, right / count


def train_epoch(model):
    for inputs, labels in batches(10):
        loss = cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


history, best, best_weights = [], float("inf"), None
for _ in range(6):
    train_epoch(model)
    loss, accuracy = validate(model)
    history.append(loss)
    if loss < best:
        best, best_weights = loss, copy.deepcopy(model.state_dict())

assert best < 0.5 * history[0]

# Validation changes nothing: no weight, no statistic, no gradient, no mode. And it gives the same numbers twice.
before = copy.deepcopy(model.state_dict())
gradients = [parameter.grad.clone() for parameter in model.parameters()]
assert validate(model) == validate(model)
assert model.training and torch.is_grad_enabled()
assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
assert all(torch.equal(parameter.grad, kept) for parameter, kept in zip(model.parameters(), gradients))

# The best weights are a copy: training has gone on since, and they have not moved with it.
model.load_state_dict(best_weights)
assert abs(validate(model)[0] - best) < 1e-6
print(f"validation loss {history[0]:.3f} -> {best:.3f}, accuracy {validate(model)[1]:.2f}")
