import warnings

import torch

warnings.filterwarnings("ignore", "Attempting to run cuBLAS")
model = torch.nn.Linear(4, 1).cuda()
loss = model(torch.randn(8, 4, device="cuda")).pow(2).mean()
loss.backward()
