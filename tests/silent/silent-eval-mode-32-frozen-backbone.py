import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(111)


class CropModel(nn.Module):
    def __init__(self, backbone, classes=3):
        super().__init__()
        self.backbone = backbone
        for p in self.backbone.parameters():
            p.requires_grad = False
        self.backbone.eval()
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(16, classes))

    def forward(self, x):
        return self.head(self.backbone(x))


def pretrained():
    backbone = nn.Sequential(nn.Linear(9, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 16), nn.BatchNorm1d(16), nn.ReLU())
    for _ in range(30):
        backbone(torch.randn(64, 9))
    return backbone


def fields(n=32):
    x = 1.5 + 0.7 * torch.randn(n, 9)
    return x, x[:, :3].argmax(dim=1)


def fit(model, epochs=3):
    optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)
    for epoch in range(epochs):
        model.train()
        for _ in range(15):
            x, y = fields()
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            x, y = fields(200)
            print(epoch, round(loss.item(), 4), (model(x).argmax(1) == y).float().mean().item())


model = CropModel(pretrained())
fit(model)
