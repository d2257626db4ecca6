import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)


class WingNet(nn.Module):
    def __init__(self, classes, width=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, width, 7, stride=2, padding=3), nn.ReLU(),
            nn.Conv1d(width, width, 5, stride=2, padding=2), nn.ReLU(),
            nn.AdaptiveAvgPool1d(4), nn.Flatten(),
        )
        self.head = nn.Linear(4 * width, classes)

    def forward(self, beats):
        return self.head(self.features(beats))


def pretrained():
    source = WingNet(classes=20)
    state = {k: v + 0.01 * torch.randn_like(v) for k, v in source.state_dict().items()}
    source.load_state_dict(state)
    return source


def adapt(model, classes):
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.head = nn.Linear(model.head.in_features, classes)
    return model


class Trainer:
    def __init__(self, model, lr=0.1):
        self.model = model
        self.optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr, momentum=0.9)

    def fit(self, batches):
        for step, (beats, species) in enumerate(batches):
            loss = F.cross_entropy(self.model(beats), species)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 5 == 0:
                print(f"step {step:3d}  loss {loss.item():.4f}")


def recordings(count, size=16):
    for _ in range(count):
        species = torch.randint(0, 5, (size,))
        phase = torch.linspace(0, 30, 200)
        yield torch.sin(phase * (1 + species[:, None] / 3))[:, None] + 0.1 * torch.randn(size, 1, 200), species


trainer = Trainer(adapt(pretrained(), classes=5))
trainer.fit(recordings(20))
