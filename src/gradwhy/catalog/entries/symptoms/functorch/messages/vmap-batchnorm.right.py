import torch

model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4, track_running_stats=False))
batches = torch.randn(2, 8, 3)
print(torch.func.vmap(model)(batches).shape)
