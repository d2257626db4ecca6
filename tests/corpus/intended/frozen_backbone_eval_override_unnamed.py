import torch
import torch.nn as nn
import torch.nn.functional as F


class Transfer(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone.requires_grad_(False).eval()
        self.head = nn.Linear(16, classes)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            features = self.backbone(x)
        return self.head(features)


torch.manual_seed(1)
backbone = nn.Sequential(nn.Linear(10, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2))
model = Transfer(backbone, 3)
del backbone
optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
for epoch in range(3):
    model.train()
    for _ in range(10):
        x = torch.randn(32, 10)
        y = x[:, :3].argmax(dim=1)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        x = torch.randn(100, 10)
        print(epoch, (model(x).argmax(1) == x[:, :3].argmax(1)).float().mean().item())
