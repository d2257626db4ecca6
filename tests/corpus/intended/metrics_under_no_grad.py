import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(53)


class Meter:
    def __init__(self, classes):
        self.matrix = torch.zeros(classes, classes)

    @torch.no_grad()
    def update(self, logits, target):
        for t, p in zip(target, logits.argmax(dim=1)):
            self.matrix[t, p] += 1

    def accuracy(self):
        return (self.matrix.diag().sum() / self.matrix.sum()).item()


net = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
history = []
for epoch in range(4):
    meter, total = Meter(3), 0.0
    for _ in range(8):
        x = torch.randn(16, 5)
        y = x[:, :3].argmax(dim=1)
        logits = net(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(logits, y)
        total += loss.item()
        history.append(loss.detach())
    print(epoch, total / 8, meter.accuracy())
print(torch.stack(history).mean().item())
