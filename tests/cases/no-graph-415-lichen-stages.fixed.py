import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

SCHEDULE = {0: ["classifier"], 3: ["stage2", "norm2"], 5: ["stage1"]}


class LichenNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.stage1 = nn.Conv2d(3, 8, 3, padding=1)
        self.stage2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.norm2 = nn.GroupNorm(4, 16)
        self.classifier = nn.Linear(16, classes)

    def forward(self, x):
        x = self.norm2(self.stage2(self.stage1(x).relu())).relu()
        return self.classifier(x.mean(dim=(2, 3)))


class GradualFinetuning:
    def __init__(self, model, schedule):
        self.model, self.schedule = model, schedule
        model.requires_grad_(False)

    def on_epoch_start(self, epoch):
        for name in self.schedule.get(epoch, []):
            self.model.get_submodule(name).requires_grad_(True)
            print(f"epoch {epoch}: training {name}")


def fit(model, loader, callback, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        callback.on_epoch_start(epoch)
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.4f}")


def main():
    torch.manual_seed(415)
    y = torch.randint(0, 4, (64,))
    x = torch.rand(64, 3, 12, 12) + y.view(-1, 1, 1, 1) * torch.tensor([0.3, -0.1, 0.2]).view(1, 3, 1, 1)
    model = LichenNet()
    fit(model, DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True), GradualFinetuning(model, SCHEDULE), 6)


main()
