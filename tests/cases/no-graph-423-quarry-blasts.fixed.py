import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(423)


def seismograms(count, length=64):
    kind = torch.randint(0, 2, (count,))
    t = torch.linspace(0, 1, length)
    onset = torch.exp(-(6 + 10 * kind.float()[:, None]) * t) * torch.sin(40 * t)
    return TensorDataset((onset + 0.1 * torch.randn(count, length)).unsqueeze(1), kind)


class EventNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 8, 7, stride=2), nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 8, 5, stride=2), nn.ReLU())
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        return self.out(self.conv(x).mean(dim=2))


loaders = {
    "fit": DataLoader(seismograms(128), batch_size=32, shuffle=True),
    "check": DataLoader(seismograms(64), batch_size=32),
}


def run_phase(phase, model, criterion, optimizer):
    fitting = phase == "fit"
    model.train(fitting)
    loss_sum, hits, seen = 0.0, 0, 0
    for x, y in loaders[phase]:
        with torch.set_grad_enabled(fitting):
            logits = model(x)
            loss = criterion(logits, y)
        if phase != "check":
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        loss_sum += loss.item() * len(y)
        hits += (logits.argmax(dim=1) == y).sum().item()
        seen += len(y)
    return loss_sum / seen, hits / seen


model = EventNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    for phase in loaders:
        loss, accuracy = run_phase(phase, model, nn.CrossEntropyLoss(), optimizer)
        print(f"epoch {epoch} {phase:5s} loss {loss:.3f} accuracy {accuracy:.2f}")
