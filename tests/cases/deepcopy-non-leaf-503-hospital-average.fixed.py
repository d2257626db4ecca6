import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def temporal_block(c_in, c_out, dilation):
    conv = nn.utils.parametrizations.weight_norm(nn.Conv1d(c_in, c_out, 3, dilation=dilation))
    return nn.Sequential(nn.ConstantPad1d((2 * dilation, 0), 0.0), conv, nn.ReLU())


class VitalSigns(nn.Module):
    def __init__(self, signals=4, width=8):
        super().__init__()
        self.blocks = nn.Sequential(
            temporal_block(signals, width, 1),
            temporal_block(width, width, 2),
            temporal_block(width, width, 4),
        )
        self.risk = nn.Linear(width, 1)

    def forward(self, x):
        return self.risk(self.blocks(x)[..., -1]).squeeze(1)


class Hospital:
    def __init__(self, n, shift):
        self.x = torch.randn(n, 4, 20)
        self.y = (self.x[:, 0, -5:].mean(dim=1) + shift > 0).float()

    def improve(self, shared, epochs=2, lr=0.05):
        local = copy.deepcopy(shared)
        optimizer = torch.optim.SGD(local.parameters(), lr=lr, momentum=0.5)
        for _ in range(epochs):
            for rows in torch.randperm(len(self.y)).split(16):
                loss = F.binary_cross_entropy_with_logits(local(self.x[rows]), self.y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return local.state_dict(), len(self.y)


def average(results):
    total = sum(n for _, n in results)
    return {name: sum(state[name] * (n / total) for state, n in results) for name in results[0][0]}


def main(rounds=3):
    torch.manual_seed(66)
    hospitals = [Hospital(32, -0.1), Hospital(16, 0.0), Hospital(32, 0.2)]
    shared = VitalSigns()
    for i in range(rounds):
        shared.load_state_dict(average([h.improve(shared) for h in hospitals]))
        with torch.no_grad():
            loss = sum(F.binary_cross_entropy_with_logits(shared(h.x), h.y).item() for h in hospitals)
        print(f"round {i}  loss {loss / len(hospitals):.3f}")


main()
