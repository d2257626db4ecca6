import torch
import torch.nn.functional as F
from torch import nn


class WeightDrop(nn.Module):
    """Applies dropout to chosen weights of a recurrent cell once per sequence."""

    def __init__(self, cell, names, p=0.2):
        super().__init__()
        self.cell, self.names, self.p = cell, names, p
        for name in names:
            weight = cell._parameters[name]
            self.register_parameter(f"{name}_raw", nn.Parameter(weight.detach().clone()))
            cell._parameters[name] = F.dropout(weight, p)

    def resample(self):
        for name in self.names:
            raw = getattr(self, f"{name}_raw")
            setattr(self.cell, name, F.dropout(raw, self.p, self.training))

    def forward(self, x, state):
        return self.cell(x, state)


class MelodyModel(nn.Module):
    def __init__(self, notes=24, width=32):
        super().__init__()
        self.width = width
        self.embed = nn.Embedding(notes, width)
        self.recurrent = WeightDrop(nn.GRUCell(width, width), ["weight_hh"])
        self.decode = nn.Linear(width, notes)

    def forward(self, notes):
        self.recurrent.resample()
        state = torch.zeros(len(notes), self.width)
        logits = []
        for x in self.embed(notes).unbind(dim=1):
            state = self.recurrent(x, state)
            logits.append(self.decode(state))
        return torch.stack(logits, dim=1)


def tunes(count, length=17):
    start = torch.randint(0, 24, (count, 1))
    return (start + torch.arange(length) * torch.tensor([[2]])) % 24


def fit(model, steps=20):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(steps):
        batch = tunes(16)
        logits = model(batch[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"step {step:2d}  {loss.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(5)
    fit(MelodyModel())
