"""Log losses, activations and gradients while training, and keep no graph alive by it."""

import copy
import weakref

import torch
from torch import nn

torch.manual_seed(0)


class Mark:
    """Lives as long as the graph that it is tied to."""


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 32)
        self.outer = nn.Linear(32, 1)
        self.activation = None

    def forward(self, x):
        hidden = torch.tanh(self.inner(x))
        self.activation = hidden.detach()
        return self.outer(hidden)


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
weights = torch.randn(8, 1) / 8**0.5

running, epoch_means, norms, saturated, graphs = 0.0, [], [], [], []
for step in range(1, 201):
    inputs = torch.randn(64, 8)
    loss = nn.functional.mse_loss(model(inputs), torch.sin(inputs @ weights))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    running += loss.item()
    norms.append(model.inner.weight.grad.norm().item())
    saturated.append((model.activation.abs() > 0.99).float().mean().item())
    if step % 50 == 0:
        epoch_means.append(running / 50)
        running = 0.0
        snapshot = copy.deepcopy(model)

    mark = Mark()
    loss.grad_fn.metadata["mark"] = mark
    graphs.append(weakref.ref(mark))
    del mark

assert epoch_means[-1] < 0.7 * epoch_means[0]
assert len(norms) == 200 and all(isinstance(value, float) for value in (*norms, *saturated, *epoch_means))
assert not snapshot.activation.requires_grad, "what is kept for a picture has no history"
assert sum(graph() is not None for graph in graphs) == 1, "only the last step's graph is alive, by its loss"
del loss
assert all(graph() is None for graph in graphs)
print(" ".join(f"{mean:.3f}" for mean in epoch_means))
