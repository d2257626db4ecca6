import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(4, 1))

    def forward(self, x):
        return x * self.gain.t()


dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = DistributedDataParallel(Scale())
model(torch.randn(8, 4)).mean().backward()
