import timm
import torch
from torch import nn


def main():
    torch.manual_seed(6)
    model = timm.create_model("resnet10t", pretrained=False, num_classes=10)
    model.reset_classifier(4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    model.train()
    for step in range(3):
        images, labels = torch.randn(4, 3, 64, 64), torch.randint(0, 4, (4,))
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
