import timm
import torch
from torch import nn


@torch.no_grad()
def extract(backbone, images):
    return torch.cat([backbone(chunk) for chunk in images.split(8)])


def main():
    torch.manual_seed(7)
    backbone = timm.create_model("resnet10t", pretrained=False, num_classes=0).eval()
    images, labels = torch.randn(16, 3, 64, 64), torch.randint(0, 3, (16,))
    features = extract(backbone, images)
    probe = nn.Linear(backbone.num_features, 3)
    optimizer = torch.optim.Adam(probe.parameters(), lr=1e-2)
    for epoch in range(3):
        loss = nn.functional.cross_entropy(probe(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
