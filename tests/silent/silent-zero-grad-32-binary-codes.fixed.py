import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(71)


class HashNet(nn.Module):
    def __init__(self, inputs=16, bits=24, classes=5):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(inputs, 48), nn.ReLU(), nn.Linear(48, bits))
        self.classify = nn.Linear(bits, classes)

    def codes(self, x):
        return torch.tanh(self.encode(x))

    def forward(self, x):
        return self.classify(self.codes(x))


class Trainer:
    def __init__(self, net, lr=2e-3):
        self.net = net
        self.optimizer = torch.optim.Adam(net.parameters(), lr=lr)

    def epoch(self, x, y, size=50):
        total = 0.0
        for rows in torch.randperm(len(x)).split(size):
            loss = F.cross_entropy(self.net(x[rows]), y[rows])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(rows)
        return total / len(x)


x = torch.randn(300, 16)
y = (x @ torch.randn(16, 5)).argmax(dim=1)
net = HashNet()
trainer = Trainer(net)
for epoch in range(10):
    value = trainer.epoch(x, y)
    if epoch % 3 == 0:
        print(epoch, round(value, 4))
