import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5)
saved = {"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}

optimizer.load_state_dict(saved["optimizer"])
scheduler.load_state_dict(saved["scheduler"])
