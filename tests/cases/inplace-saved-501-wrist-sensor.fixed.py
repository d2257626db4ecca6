import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(6)
ACTIVITIES, PEOPLE = 4, 5


class WristEncoder(nn.Module):
    def __init__(self, channels=3, width=24):
        super().__init__()
        self.conv = nn.Conv1d(channels, width, 5, padding=2)
        self.rnn = nn.GRU(width, width, batch_first=True)

    def forward(self, signal):
        x = F.relu(self.conv(signal)).transpose(1, 2)
        return self.rnn(x)[1][0]


class ActivityModel(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.encoder = WristEncoder(width=width)
        self.activity = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, ACTIVITIES))
        self.person = nn.Linear(width, PEOPLE)

    def forward(self, signal):
        code = self.encoder(signal)
        return self.activity(code), self.person(code)


def recordings(count=32, length=30):
    activity = torch.randint(ACTIVITIES, (count,))
    person = torch.randint(PEOPLE, (count,))
    t = torch.arange(length) * 0.2
    wave = torch.sin((activity[:, None] + 1) * t) * (1 + 0.2 * person[:, None])
    signal = torch.stack([wave, wave.cumsum(1) * 0.1, person[:, None] * 0.3 + 0 * wave], dim=1)
    return signal + 0.1 * torch.randn(count, 3, length), activity, person


def update(optimizer, loss, last):
    optimizer.zero_grad()
    loss.backward(retain_graph=not last)
    optimizer.step()
    return loss.item()


def train_step(model, optimizer, batch):
    signal, activity, person = batch
    activity_logits, person_logits = model(signal)
    goals = [F.cross_entropy(activity_logits, activity), 0.3 * F.cross_entropy(person_logits, person)]
    update(optimizer, sum(goals), last=True)
    return [goal.item() for goal in goals]


model = ActivityModel()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(30):
    values = train_step(model, optimizer, recordings())
    if step % 10 == 0:
        print(f"{step:2d}  activity {values[0]:.3f}  person {values[1]:.3f}")
