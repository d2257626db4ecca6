import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
last_epoch = 9
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, last_epoch=last_epoch)
