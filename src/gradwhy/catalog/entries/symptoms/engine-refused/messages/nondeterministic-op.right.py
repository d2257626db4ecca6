import torch

torch.use_deterministic_algorithms(True)
memory = torch.zeros(4)
memory[torch.tensor([0, 2])] = torch.ones(2)
