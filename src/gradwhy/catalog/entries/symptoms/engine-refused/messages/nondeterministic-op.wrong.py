import torch

torch.use_deterministic_algorithms(True)
memory = torch.zeros(4)
memory.put_(torch.tensor([0, 2]), torch.ones(2))
