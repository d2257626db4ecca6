import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(14)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU())

    @torch.no_grad()
    def forward(self, x):
        return self.layers(x).mean(dim=(2, 3))


class Transfer(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        for p in self.backbone.parameters():
            p.requires_grad = False
        self.head = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, classes))

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        return self.head(self.backbone(x).detach())


def shapes(n, size=16):
    y = torch.randint(0, 3, (n,))
    x = 0.2 * torch.randn(n, 1, size, size)
    for i, k in enumerate(y.tolist()):
        if k == 0:
            x[i, 0, 4:12, 4:12] += 1
        elif k == 1:
            x[i, 0, ::2] += 1
        else:
            x[i, 0, :, ::2] += 1
    return x, y


model = Transfer(Backbone(), 3)
trainable = [p for p in model.parameters() if p.requires_grad]
print(sum(p.numel() for p in trainable), "of", sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.Adam(trainable, lr=0.03)
train, test = shapes(160), shapes(60)
for epoch in range(6):
    model.train()
    for idx in torch.randperm(160).split(32):
        loss = F.cross_entropy(model(train[0][idx]), train[1][idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        _, guess = torch.max(model(test[0]), 1)
        confusion = torch.zeros(3, 3, dtype=torch.long).index_put_((test[1], guess), torch.tensor(1), accumulate=True)
    print(epoch, round(loss.item(), 4), (confusion.diag().sum() / confusion.sum()).item())
