import torch
import torch.nn as nn

torch.manual_seed(25)


class Callback:
    def on_train_start(self, trainer): pass
    def on_train_end(self, trainer): pass
    def on_validation_start(self, trainer): pass
    def on_validation_end(self, trainer): pass


class History(Callback):
    def __init__(self):
        self.rows = []

    def on_validation_end(self, trainer):
        self.rows.append({k: round(float(v), 4) for k, v in trainer.metrics.items()})


class EvalMode(Callback):
    def on_validation_start(self, trainer):
        trainer.model.eval()
        torch.set_grad_enabled(False)

    def on_validation_end(self, trainer):
        torch.set_grad_enabled(True)
        trainer.model.train()


class BestWeights(Callback):
    def __init__(self):
        self.best, self.state = None, None

    def on_validation_end(self, trainer):
        value = trainer.metrics["valid"]
        if self.best is None or value < self.best:
            self.best = value
            self.state = {k: v.detach().clone() for k, v in trainer.model.state_dict().items()}

    def on_train_end(self, trainer):
        trainer.model.load_state_dict(self.state)


class Trainer:
    def __init__(self, model, callbacks, lr=1e-2):
        self.model, self.callbacks, self.metrics = model, callbacks, {}
        self.criterion = nn.HuberLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def notify(self, event):
        for callback in self.callbacks:
            getattr(callback, event)(self)

    def training_step(self, batch):
        x, y = batch
        return self.criterion(self.model(x), y)

    def validate(self, batches):
        self.notify("on_validation_start")
        self.metrics["valid"] = sum(self.training_step(b).item() for b in batches) / len(batches)
        self.notify("on_validation_end")

    def fit(self, train_batches, valid_batches, epochs):
        self.notify("on_train_start")
        for epoch in range(epochs):
            for batch in train_batches:
                loss = self.training_step(batch)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.metrics["train"] = loss.item()
            self.validate(valid_batches)
        self.notify("on_train_end")


def batches(count):
    for_batch = lambda: torch.randn(16, 9)
    return [(x, x[:, :2].sum(1, keepdim=True).sin()) for x in (for_batch() for _ in range(count))]


net = nn.Sequential(nn.Linear(9, 24), nn.ELU(), nn.Dropout(0.1), nn.Linear(24, 1))
history = History()
trainer = Trainer(net, [EvalMode(), BestWeights(), history])
trainer.fit(batches(10), batches(4), epochs=3)
print(history.rows)
