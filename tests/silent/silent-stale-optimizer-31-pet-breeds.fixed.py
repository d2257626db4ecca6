import torch
import torch.nn as nn

torch.manual_seed(21)


class SmallResNet(nn.Module):
    def __init__(self, classes=10, width=12):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.block = nn.Sequential(nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        h = self.stem(x)
        h = h + self.block(h)
        return self.fc(h.mean((2, 3)))


def setup(lr=0.05):
    model = adapt(SmallResNet(classes=10), classes=3)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    return model, optimizer, scheduler


def adapt(model, classes):
    model.fc = nn.Linear(model.fc.in_features, classes)
    return model


def images(batch, classes):
    labels = torch.randint(0, classes, (batch,))
    x = 0.5 * torch.randn(batch, 3, 10, 10)
    x[torch.arange(batch), labels % 3] += 1.0
    return x, labels


model, optimizer, scheduler = setup()
criterion = nn.CrossEntropyLoss()
for epoch in range(4):
    running = 0.0
    for _ in range(8):
        x, y = images(16, 3)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    scheduler.step()
    print(f"[{epoch}] loss {running / 8:.4f}")
