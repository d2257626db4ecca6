"""Started by torchrun, or alone: then it makes a group of one."""

import os
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def setup(folder):
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if "MASTER_ADDR" in os.environ:
        dist.init_process_group("gloo")
    else:
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
    return rank, world


def unwrap(model):
    return model.module if isinstance(model, DDP) else model


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 8, 3, padding=1)
        self.bn = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(torch.relu(self.bn(self.conv(x))).mean(-1))


@torch.no_grad()
def evaluate(model, loader, world):
    model.eval()
    total = torch.zeros(2)
    for x, y in loader:
        total += torch.tensor([(model(x).argmax(1) == y).sum().item(), len(y)], dtype=torch.float32)
    dist.all_reduce(total)
    model.train()
    return (total[0] / total[1]).item()


def main():
    with tempfile.TemporaryDirectory() as folder:
        rank, world = setup(folder)
        torch.manual_seed(15)
        data = TensorDataset(torch.randn(64, 2, 12), torch.randint(0, 2, (64,)))
        sampler = DistributedSampler(data, num_replicas=world, rank=rank)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(Net()) if torch.cuda.is_available() else Net())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05 * world)
        criterion = nn.CrossEntropyLoss()
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for i, (x, y) in enumerate(loader):
                last = (i + 1) % 2 == 0
                if last:
                    criterion(model(x), y).div(2).backward()
                    optimizer.step()
                    optimizer.zero_grad()
                else:
                    with model.no_sync():
                        criterion(model(x), y).div(2).backward()
            accuracy = evaluate(model, loader, world)
            if rank == 0:
                torch.save(unwrap(model).state_dict(), Path(folder) / f"epoch{epoch}.pt")
                print(epoch, accuracy)
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
