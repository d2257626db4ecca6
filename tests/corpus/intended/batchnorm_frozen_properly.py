import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(58)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
            nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.head = nn.Conv2d(8, 1, 1)
        self.freeze_norm()

    def freeze_norm(self):
        for m in self.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.eval()
                m.weight.requires_grad = False
                m.bias.requires_grad = False

    def train(self, mode=True):
        super().train(mode)
        self.freeze_norm()
        return self

    def forward(self, x):
        return self.head(self.body(x))


net = Detector()
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.05, momentum=0.9)
net.train()
for step in range(20):
    x = torch.randn(4, 1, 10, 10)
    loss = F.binary_cross_entropy_with_logits(net(x), (x > 0.5).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
