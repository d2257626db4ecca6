import copy
import math
import torch
from torch import nn

torch.manual_seed(58)


class LensDesigner(nn.Module):
    """Proposes radii and spacings of a lens stack for a wanted focal length."""

    def __init__(self, elements=3):
        super().__init__()
        self.elements = elements
        self.body = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 2 * elements))

    def forward(self, wanted):
        raw = self.body(wanted)
        power = 0.6 * torch.tanh(raw[:, : self.elements])
        gap = 0.1 + torch.sigmoid(raw[:, self.elements:])
        return power, gap


def trace(power, gap):
    height, angle = torch.ones(len(power)), torch.zeros(len(power))
    for i in range(power.shape[1]):
        angle = angle - height * power[:, i]
        height = height + angle * gap[:, i]
    return -angle


def search(designer, steps=60):
    optimizer = torch.optim.Adam(designer.parameters(), lr=5e-3)
    best = {"loss": math.inf}
    for step in range(steps):
        wanted = 2.0 + 3.0 * torch.rand(32, 1)
        power, gap = designer(wanted)
        miss = (trace(power, gap) - 1 / wanted.squeeze(1)).pow(2).mean()
        length = gap.sum(dim=1).mean()
        loss = miss + 0.01 * length
        report = {"step": step, "loss": loss.item(), "power": power[0].detach(), "gap": gap[0].detach()}
        if report["loss"] < best["loss"]:
            best = copy.deepcopy(report)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return best


if __name__ == "__main__":
    best = search(LensDesigner())
    print("best loss {loss:.4f} at step {step}".format(**best))
    print("powers", [round(v, 3) for v in best["power"].tolist()])
    print("gaps  ", [round(v, 3) for v in best["gap"].tolist()])
