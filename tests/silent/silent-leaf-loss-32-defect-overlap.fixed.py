import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(8)


class DefectNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(),
                                 nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        return self.head(self.enc(x))


class IoULoss(nn.Module):
    def forward(self, logits, mask):
        found = logits.softmax(dim=1)[:, 1]
        inter = (found * mask).flatten(1).sum(1)
        union = (found + mask - found * mask).flatten(1).sum(1)
        return 1 - ((inter + 1e-6) / (union + 1e-6)).mean()


def plates(n=12, size=16):
    mask = torch.zeros(n, size, size)
    for m in mask:
        y, x = torch.randint(0, size - 5, (2,)).tolist()
        m[y:y + 5, x:x + 5] = 1
    return (mask + 0.4 * torch.randn(n, size, size)).unsqueeze(1), mask


net = DefectNet()
iou_loss = IoULoss()
optim = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for it in range(30):
    image, mask = plates()
    optim.zero_grad()
    loss = iou_loss(net(image), mask)
    loss.backward()
    optim.step()
    if it % 10 == 0:
        print("iter", it, "iou loss", round(loss.item(), 4))
