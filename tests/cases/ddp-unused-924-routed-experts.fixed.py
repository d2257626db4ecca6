import contextlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Expert(nn.Sequential):
    def __init__(self, dim, width):
        super().__init__(nn.Linear(dim, width), nn.GELU(), nn.Linear(width, dim))


class Routed(nn.Module):
    def __init__(self, dim=6, width=12, languages=("en", "fr", "de")):
        super().__init__()
        self.stem = nn.Linear(dim, dim)
        self.experts = nn.ModuleDict({name: Expert(dim, width) for name in languages})
        self.head = nn.Linear(dim, 2)

    def forward(self, x, language):
        x = self.stem(x)
        x = x + self.experts[language](x)
        return self.head(x)


@contextlib.contextmanager
def process_group():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        yield dist.get_rank()
    finally:
        dist.destroy_process_group()


def batches(steps, languages):
    for step in range(steps):
        x = torch.randn(8, 6)
        yield languages[step % len(languages)], x, (x.sum(1) > 0).long()


def train(rank, steps=6):
    torch.manual_seed(100 + rank)
    model = Routed()
    wrapped = DistributedDataParallel(model, find_unused_parameters=True)
    optimizer = torch.optim.AdamW(wrapped.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=3)
    for language, x, y in batches(steps, list(model.experts)):
        loss = nn.functional.cross_entropy(wrapped(x, language), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if rank == 0:
            print(f"{language}: {loss.item():.3f}")


if __name__ == "__main__":
    with process_group() as rank:
        train(rank)
