import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(54)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 8, bias=False))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
centres = torch.randn(5, 6) * 2
for episode in range(40):
    support = centres.unsqueeze(1) + torch.randn(5, 4, 6)
    label = torch.randint(0, 5, (20,))
    query = centres[label] + torch.randn(20, 6)
    prototypes = net(support).mean(dim=1)
    distance = (net(query).unsqueeze(1) - prototypes.unsqueeze(0)).pow(2).sum(dim=-1)
    loss = F.cross_entropy(-distance, label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
