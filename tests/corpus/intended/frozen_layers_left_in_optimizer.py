import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(8, 32)
        self.mid = nn.Linear(32, 32)
        self.out = nn.Linear(32, 2)

    def forward(self, x):
        return self.out(torch.relu(self.mid(torch.relu(self.stem(x)))))


net = Net()
net.stem.requires_grad_(False)
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.01)
before = net.stem.weight.clone()
for step in range(30):
    x = torch.randn(32, 8)
    loss = F.cross_entropy(net(x), (x.sum(1) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), torch.equal(before, net.stem.weight))
