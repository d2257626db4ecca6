import torch
import torch.distributed as dist
import torch.utils.checkpoint as cp
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.spatial = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.channel = nn.Sequential(nn.GroupNorm(2, width), nn.Conv2d(width, width, 1), nn.GELU())

    def forward(self, x):
        return x + self.channel(self.spatial(x))


class TileNet(nn.Module):
    def __init__(self, bands=4, width=16, depth=3, classes=5, use_checkpoint=False):
        super().__init__()
        self.patch = nn.Conv2d(bands, width, 2, stride=2)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, classes)
        self.use_checkpoint = use_checkpoint

    def forward(self, x):
        x = self.patch(x)
        for block in self.blocks:
            if self.use_checkpoint:
                x = cp.checkpoint(block, x, use_reentrant=True)
            else:
                x = block(x)
        return self.head(x.mean(dim=(2, 3)))


def setup(args):
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model = TileNet(use_checkpoint=args["use_checkpoint"])
    return DistributedDataParallel(model, find_unused_parameters=args["find_unused"], broadcast_buffers=False)


def tiles(count=12):
    cover = torch.randint(0, 5, (count,))
    signature = torch.linspace(0, 1, 4) * (cover[:, None] - 2)
    return signature[:, :, None, None] + 0.3 * torch.randn(count, 4, 16, 16), cover


def main(args):
    torch.manual_seed(args["seed"])
    model = setup(args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args["lr"])
    for step in range(args["steps"]):
        images, cover = tiles()
        loss = cross_entropy(model(images), cover)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main({"seed": 0, "lr": 2e-3, "steps": 12, "use_checkpoint": True, "find_unused": True})
