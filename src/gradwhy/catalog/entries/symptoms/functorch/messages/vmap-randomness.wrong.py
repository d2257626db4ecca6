import torch

dropout = torch.nn.Dropout(0.5)
print(torch.func.vmap(dropout)(torch.ones(4, 3)))
