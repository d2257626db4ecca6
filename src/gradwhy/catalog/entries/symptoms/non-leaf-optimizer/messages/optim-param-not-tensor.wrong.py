import torch

encoder, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
parameters = [list(encoder.parameters()), list(head.parameters())]
optimizer = torch.optim.Adam(parameters, lr=1e-3)
