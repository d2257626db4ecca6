"""Train a recurrent network on a long sequence in chunks (truncated BPTT): the state goes on, its graph does not."""

import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.cell = nn.GRU(1, width, batch_first=True)
        self.head = nn.Linear(width, 1)

    def forward(self, inputs, state=None):
        outputs, state = self.cell(inputs, state)
        return self.head(outputs), state


def nodes(tensor):
    """How many operations the graph behind a tensor has."""
    seen, open_ = set(), [tensor.grad_fn]
    while open_:
        node = open_.pop()
        if node is not None and node not in seen:
            seen.add(node)
            open_ += [following for following, _ in node.next_functions]
    return len(seen)


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

# Four long waves of different speeds; the next value is to be told from those before.
speed = torch.tensor([0.1, 0.15, 0.2, 0.25]).unsqueeze(1)
wave = torch.sin(speed * torch.arange(401)).unsqueeze(2)
CHUNK = 20

means, sizes = [], []
for _ in range(6):
    state = None
    losses = []
    for start in range(0, 400, CHUNK):
        inputs = wave[:, start : start + CHUNK]
        targets = wave[:, start + 1 : start + CHUNK + 1]
        if state is not None:
            state = state.detach()
        predictions, state = model(inputs, state)
        loss = nn.functional.mse_loss(predictions, targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        sizes.append(nodes(loss))
    means.append(sum(losses) / len(losses))

assert means[-1] < means[0] / 10
assert max(sizes[1:]) == min(sizes[1:]), "no chunk's graph reaches into the one before"
assert state.grad_fn is not None and state.detach().grad_fn is None

# Within a chunk the gradient goes through time: the last output depends on the first input.
inputs = wave[:, :CHUNK].clone().requires_grad_(True)
predictions, _ = model(inputs)
(gradient,) = torch.autograd.grad(predictions[:, -1].sum(), inputs)
assert (gradient[:, 0] != 0).all()
print(f"loss {means[0]:.4f} -> {means[-1]:.4f}, {sizes[-1]} operations in each graph")
