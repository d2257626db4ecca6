"""Fine-tune a frozen network by small adapters (LoRA), with activation checkpointing to save memory."""

import copy

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Adapted(nn.Module):
    """A frozen linear layer, and a trainable change of low rank that is zero at the start."""

    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.down.T @ self.up.T


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, 2 * width)
        self.outer = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.outer(self.inner(self.norm(x)).relu())


class Network(nn.Module):
    def __init__(self, width=16, depth=4):
        super().__init__()
        self.embedding = nn.Linear(8, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 1)
        self.checkpointing = True

    def forward(self, x):
        x = self.embedding(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointing else block(x)
        return self.head(x)


model = Network()
inputs = torch.randn(128, 8)
targets = inputs[:, :2].prod(dim=1, keepdim=True)

model.requires_grad_(False)
for block in model.blocks:
    block.inner = Adapted(block.inner)
    block.outer = Adapted(block.outer)
trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
before = copy.deepcopy(model.state_dict())
optimizer = torch.optim.AdamW(trained.values(), lr=1e-2)

losses = []
for _ in range(80):
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

assert losses[-1] < 0.3 * losses[0]
assert len(trained) == 16, "two matrices for each of two layers in four blocks"
for name, value in model.state_dict().items():
    assert torch.equal(value, before[name]) != (name in trained), f"{name}: adapters move, the base does not"


# Checkpointing changes no gradient, it only computes the blocks twice.
def gradients():
    loss = nn.functional.mse_loss(model(inputs), targets)
    return torch.autograd.grad(loss, list(trained.values()))


checkpointed = gradients()
model.checkpointing = False
assert all(torch.allclose(one, other) for one, other in zip(checkpointed, gradients()))
print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, {sum(value.numel() for value in trained.values())} trained numbers")
