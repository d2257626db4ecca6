import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

torch.manual_seed(66)
model = nn.Sequential(nn.Linear(5, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 1))
averaged = AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
swa_schedule = SWALR(optimizer, swa_lr=0.02, anneal_epochs=2)
data = [torch.randn(32, 5) for _ in range(6)]
for epoch in range(8):
    for x in data:
        loss = F.mse_loss(model(x), x[:, :1].abs())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch >= 4:
        averaged.update_parameters(model)
        swa_schedule.step()
update_bn(data, averaged)
averaged.eval()
with torch.no_grad():
    print(F.mse_loss(averaged(data[0]), data[0][:, :1].abs()).item())
