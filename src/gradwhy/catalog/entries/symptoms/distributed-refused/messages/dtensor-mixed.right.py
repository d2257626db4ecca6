import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = fully_shard(torch.nn.Linear(4, 1), mesh=init_device_mesh("cpu", (1,)))
x = torch.randn(8, 4)
model(x).mean().backward()
