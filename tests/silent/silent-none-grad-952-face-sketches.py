import torch
from torch import nn


class Callback:
    def before_backward(self, trainer):
        pass

    def after_backward(self, trainer):
        pass

    def after_step(self, trainer):
        pass


class GradNorm(Callback):
    def __init__(self):
        self.norms = []

    def after_backward(self, trainer):
        grads = [p.grad for p in trainer.model.parameters() if p.grad is not None]
        self.norms.append(torch.stack([g.norm() for g in grads]).norm().item())


class Autoencoder(nn.Module):
    def __init__(self, pixels=100, code=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, 40), nn.ELU(), nn.Linear(40, code))
        self.decoder = nn.Sequential(nn.Linear(code, 40), nn.ELU(), nn.Linear(40, pixels))

    def forward(self, x):
        return self.decoder(self.encoder(x)).sigmoid()


class Trainer:
    def __init__(self, model, lr=1e-2, callbacks=()):
        self.model, self.callbacks = model, callbacks
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.BCELoss()

    def notify(self, event):
        for callback in self.callbacks:
            getattr(callback, event)(self)

    def step(self, sketch):
        loss = self.criterion(self.model(sketch), sketch)
        self.notify("before_backward")
        loss.backward()
        self.notify("after_backward")
        self.optimizer.zero_grad()
        self.optimizer.step()
        self.notify("after_step")
        return loss.item()

    def fit(self, sketches, epochs, batch=10):
        return [sum(self.step(part) for part in sketches.split(batch)) for _ in range(epochs)]


if __name__ == "__main__":
    torch.manual_seed(8)
    sketches = (torch.rand(40, 100) > 0.7).float()
    model = Autoencoder()
    start = nn.utils.parameters_to_vector(model.parameters()).detach().clone()
    losses = Trainer(model, callbacks=[GradNorm()]).fit(sketches, epochs=3)
    print(losses)
    moved = (nn.utils.parameters_to_vector(model.parameters()) - start).abs().max()
    assert moved == 0
