import torch
import torch.nn as nn
import torch.nn.functional as F


class ThawAt:
    def __init__(self, epoch, part):
        self.epoch, self.part = epoch, part

    def on_epoch_start(self, trainer, epoch):
        if epoch == self.epoch:
            for p in getattr(trainer.model, self.part).parameters():
                p.requires_grad = True


class Trainer:
    def __init__(self, model, callbacks=(), lr=5e-3):
        self.model, self.callbacks = model, callbacks
        self.optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)

    def fit(self, data, epochs):
        for epoch in range(epochs):
            for callback in self.callbacks:
                callback.on_epoch_start(self, epoch)
            total = 0.0
            for x, y in data:
                self.model.zero_grad()
                loss = F.cross_entropy(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            print(epoch, round(total / len(data), 4))


class MusicNet(nn.Module):
    def __init__(self, bands=12, genres=4):
        super().__init__()
        self.frontend = nn.Sequential(nn.Linear(bands, 32), nn.ReLU())
        self.head = nn.Linear(32, genres)

    def forward(self, x):
        return self.head(self.frontend(x))


def songs(count, n=32):
    out = []
    for _ in range(count):
        x = torch.randn(n, 12)
        out.append((x, (x[:, :4] * x[:, 4:8]).argmax(dim=1)))
    return out


torch.manual_seed(151)
model = MusicNet()
model.frontend.requires_grad_(False)
trainer = Trainer(model, callbacks=[ThawAt(1, "frontend")])
trainer.fit(songs(12), epochs=4)
