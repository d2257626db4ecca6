import torch

cell = torch.nn.GRUCell(4, 8)
states = cell(torch.randn(2, 4)).unsqueeze(0)
hidden = states[0].detach()
cell(torch.randn(2, 4), hidden).mean().backward()
