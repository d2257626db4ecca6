import torch
import torch.nn as nn
import torch.nn.functional as F


class Trainer:
    def __init__(self, model, lr=5e-3):
        self.model, self.lr = model, lr
        self.optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)

    def thaw(self, module, factor=0.1):
        fresh = [p for p in module.parameters() if not p.requires_grad]
        for p in fresh:
            p.requires_grad = True
        self.optimizer.add_param_group({"params": fresh, "lr": self.lr * factor})

    def epoch(self, steps=10):
        self.model.train()
        total = 0.0
        for _ in range(steps):
            x = torch.randn(32, 8)
            loss = F.cross_entropy(self.model(x), x[:, :4].argmax(dim=1))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / steps


def main():
    torch.manual_seed(111)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    model[0].requires_grad_(False)
    trainer = Trainer(model)
    for epoch in range(5):
        if epoch == 2:
            trainer.thaw(model[0])
        print(epoch, round(trainer.epoch(), 4))


if __name__ == "__main__":
    main()
