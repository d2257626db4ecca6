import torch
import torch.nn as nn

torch.manual_seed(88)

FINETUNE = ["classifier.weight", "classifier.bias"]


class FlowerNet(nn.Module):
    def __init__(self, width=16, classes=12):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
        )
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(width, classes)

    def forward(self, x):
        return self.classifier(self.pool(self.features(x)).flatten(1))


def pretrained(classes):
    source = FlowerNet(classes=100)
    state = {k: v for k, v in source.state_dict().items() if not k.startswith("classifier")}
    net = FlowerNet(classes=classes)
    missing = net.load_state_dict(state, strict=False).missing_keys
    assert missing == FINETUNE, missing
    return net


def prepare(net):
    model = nn.DataParallel(net)
    for name, p in model.named_parameters():
        p.requires_grad = name in FINETUNE
    return model


def mixup(x, y, classes, alpha=0.4):
    lam = torch.distributions.Beta(alpha, alpha).sample().item()
    order = torch.randperm(len(x))
    one_hot = nn.functional.one_hot(y, classes).float()
    return lam * x + (1 - lam) * x[order], lam * one_hot + (1 - lam) * one_hot[order]


def run(model, images, labels, classes, epochs=3):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.module.classifier.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for epoch in range(epochs):
        model.train()
        for rows in torch.randperm(len(images)).split(16):
            x, target = mixup(images[rows], labels[rows], classes)
            loss = criterion(model(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            right = model(images).argmax(1).eq(labels).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.3f} accuracy {right:.3f}")


if __name__ == "__main__":
    run(prepare(pretrained(12)), torch.rand(64, 3, 16, 16), torch.randint(0, 12, (64,)), 12)
