import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(6, 2)

    def forward(self, x):
        self.maps = self.conv(x)
        return self.fc(self.maps.mean(dim=(2, 3)))


def cam(net, image, label):
    net.eval()
    score = net(image)[0, label]
    net.maps.retain_grad()
    net.zero_grad()
    score.backward()
    weights = net.maps.grad.mean(dim=(2, 3), keepdim=True)
    return F.relu((weights * net.maps).sum(dim=1)).detach()


def images(n=16):
    y = torch.randint(0, 2, (n,))
    x = 0.3 * torch.randn(n, 1, 8, 8)
    x[:, 0, 2:5, 2:5] += y.view(-1, 1, 1).float() * 2
    return x, y


torch.manual_seed(107)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(30):
    x, y = images()
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
x, y = images(1)
print(loss.item(), cam(net, x, y[0]).max().item())
