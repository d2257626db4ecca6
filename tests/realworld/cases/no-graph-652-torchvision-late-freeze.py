import torch
from torch import nn
from torchvision.models import resnet18


def adapt(classes, freeze_backbone=True):
    model = resnet18(weights=None)
    model.fc = nn.Sequential(nn.Dropout(0.1), nn.Linear(512, classes))
    if freeze_backbone:
        for param in model.parameters():
            param.requires_grad = False
    return model


def main():
    torch.manual_seed(2)
    model = adapt(5)
    optimizer = torch.optim.Adam(model.fc.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    for step in range(2):
        images, labels = torch.randn(4, 3, 64, 64), torch.randint(0, 5, (4,))
        loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, round(loss.item(), 3))


if __name__ == "__main__":
    main()
