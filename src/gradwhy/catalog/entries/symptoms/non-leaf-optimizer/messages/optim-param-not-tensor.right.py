import torch

encoder, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
parameters = [*encoder.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-3)
