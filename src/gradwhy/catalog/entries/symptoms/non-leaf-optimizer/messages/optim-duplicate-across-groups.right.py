import torch

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
head = model[1]
groups = [{"params": model[0].parameters()}, {"params": head.parameters(), "lr": 0.01}]
optimizer = torch.optim.SGD(groups, lr=0.1)
