import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(59)
model = nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Dropout(0.3), nn.Linear(24, 2))
with torch.no_grad():
    for _ in range(50):
        model(torch.randn(64, 6))

# small batches: keep the statistics of the pretraining and train the weights only
model.eval()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(40):
    x = torch.randn(2, 6)
    loss = F.cross_entropy(model(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
