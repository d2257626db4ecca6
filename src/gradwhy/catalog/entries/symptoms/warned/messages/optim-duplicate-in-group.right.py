import torch

encoder, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
head.weight = encoder.weight
optimizer = torch.optim.SGD(torch.nn.ModuleList([encoder, head]).parameters(), lr=0.1)
