import torch
from torch.nn.utils import parametrize

vocoder = torch.nn.Sequential(torch.nn.utils.parametrizations.weight_norm(torch.nn.Conv1d(1, 4, 3)))
for layer in vocoder:
    parametrize.remove_parametrizations(layer, "weight")
