"""Transfer learning: reads the number off a picture of a digit with a ResNet-18 whose backbone is frozen."""

import torch
import torch.nn.functional as F
from resnet import resnet18
from sklearn.datasets import load_digits
from torch import nn, optim
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def load_pictures(count):
    digits = load_digits()
    images = torch.tensor(digits.images[:count], dtype=torch.float32).unsqueeze(1) / 16
    images = F.interpolate(images, size=(64, 64), mode="bilinear").expand(-1, 3, -1, -1)
    labels = torch.tensor(digits.target[:count], dtype=torch.float32)
    return TensorDataset(images, labels)


def build_model():
    model = resnet18()
    for param in model.parameters():
        param.requires_grad = False
    for param in model.fc.parameters():
        param.requires_grad = True
    model.fc = nn.Linear(model.fc.in_features, 1)
    return model.to(device)


def train_model(model, criterion, optimizer, scheduler, loader, num_epochs):
    for epoch in range(num_epochs):
        model.train()
        running_loss, seen = 0.0, 0
        for inputs, labels in loader:
            inputs = inputs.to(device)
            labels = labels.to(device)
            optimizer.zero_grad()
            outputs = model(inputs)
            _, preds = torch.max(outputs, 1)
            loss = criterion(preds, labels)
            loss.backward()
            optimizer.step()
            running_loss += loss.item() * inputs.size(0)
            seen += inputs.size(0)
        scheduler.step()
        print(f"epoch {epoch + 1}/{num_epochs}  loss {running_loss / seen:.3f}")
    return model


def main():
    torch.manual_seed(0)
    loader = DataLoader(load_pictures(129), batch_size=64, shuffle=True)
    model = build_model()
    criterion = nn.MSELoss()
    optimizer = optim.Adam(model.parameters(), lr=0.001)
    scheduler = lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)
    train_model(model, criterion, optimizer, scheduler, loader, num_epochs=5)


if __name__ == "__main__":
    main()
