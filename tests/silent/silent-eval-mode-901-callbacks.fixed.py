import torch
from torch import nn


class Callback:
    def on_epoch_end(self, trainer, epoch):
        pass


class Samples(Callback):
    def __init__(self, batch, every=1):
        self.batch, self.every = batch, every
        self.kept = []

    @torch.no_grad()
    def on_epoch_end(self, trainer, epoch):
        if epoch % self.every:
            return
        trainer.model.eval()
        preview = trainer.model(self.batch).argmax(1)
        trainer.model.train()
        self.kept.append(preview.tolist())


class Printer(Callback):
    def on_epoch_end(self, trainer, epoch):
        print(f"[{epoch:02d}] loss={trainer.last_loss:.4f}")


class Trainer:
    def __init__(self, model, optimizer, loss_fn, callbacks=()):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.callbacks = list(callbacks)
        self.last_loss = None

    def fit(self, data, epochs):
        self.model.train()
        for epoch in range(epochs):
            for x, y in data:
                self.optimizer.zero_grad()
                loss = self.loss_fn(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                self.last_loss = loss.item()
            for callback in self.callbacks:
                callback.on_epoch_end(self, epoch)


torch.manual_seed(100)
data = [(torch.randn(16, 1, 8, 8), torch.randint(0, 4, (16,))) for _ in range(6)]
model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(288, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
trainer = Trainer(model, optimizer, nn.CrossEntropyLoss(), [Printer(), Samples(data[0][0])])
trainer.fit(data, 3)
assert model[1].num_batches_tracked == 18
