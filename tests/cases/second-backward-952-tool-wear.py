import torch
from torch import nn


class WearNet(nn.Module):
    def __init__(self, signal=32, width=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(signal, 40), nn.SiLU(), nn.Linear(40, width))
        self.norm = nn.LayerNorm(width)

    def embed(self, signal):
        return self.norm(self.body(signal))

    def forward(self, signal, anchors):
        return -torch.cdist(self.embed(signal), anchors)


def make_signals(count, states=3):
    state = torch.randint(states, (count,))
    base = torch.linspace(0, 6.28, 32)
    return torch.sin(base * (1 + state.unsqueeze(1))) + 0.1 * torch.randn(count, 32), state


def prototypes_of(signals, state):
    return torch.stack([signals[state == k].mean(0) for k in range(3)])


@torch.no_grad()
def accuracy(model, signals, state, prototypes):
    scores = model(signals, model.embed(prototypes))
    return (scores.argmax(1) == state).float().mean().item()


def main(steps=6):
    torch.manual_seed(4)
    signals, state = make_signals(120)
    held_out, held_state = make_signals(40)
    prototypes = prototypes_of(signals, state)
    model = WearNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    anchors = model.embed(prototypes)
    for step in range(steps):
        rows = torch.randint(len(signals), (24,))
        loss = criterion(model(signals[rows], anchors), state[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, f"{loss.item():.3f}", accuracy(model, held_out, held_state, prototypes))


main()
