import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset
from torchvision import models


def build_model(classes):
    model = models.resnet18(weights=None)
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.fc = nn.Linear(model.fc.in_features, classes)
    return model


def train_model(model, criterion, optimizer, scheduler, loader, epochs=1):
    for epoch in range(epochs):
        model.train()
        running_loss, running_corrects = 0.0, 0
        for inputs, labels in loader:
            optimizer.zero_grad()
            outputs = model(inputs)
            _, preds = torch.max(outputs, 1)
            loss = criterion(preds.float(), labels.float())
            loss.backward()
            optimizer.step()
            running_loss += loss.item() * inputs.size(0)
            running_corrects += (preds == labels).sum().item()
        scheduler.step()
        print(running_loss / len(loader.dataset), running_corrects)
    return model


def main():
    torch.manual_seed(1)
    images, labels = torch.randn(12, 3, 64, 64), torch.randint(0, 2, (12,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=4)
    model = build_model(2)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.fc.parameters(), lr=0.001, momentum=0.9)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)
    train_model(model, criterion, optimizer, scheduler, loader)


if __name__ == "__main__":
    main()
