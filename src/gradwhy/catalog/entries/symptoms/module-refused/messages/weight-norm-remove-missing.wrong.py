import torch

vocoder = torch.nn.Sequential(torch.nn.utils.parametrizations.weight_norm(torch.nn.Conv1d(1, 4, 3)))
for layer in vocoder:
    torch.nn.utils.remove_weight_norm(layer)
