import torch

model = torch.nn.Linear(4, 1)
before = torch.optim.SGD(model.parameters(), lr=0.1)
saved = before.state_dict()

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer.load_state_dict(saved)
