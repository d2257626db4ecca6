import torch
from torch import nn
from torch.nn import functional as F


class ToneCurve(nn.Module):
    """A monotone curve from grey value to grey value."""

    def __init__(self, knots=8):
        super().__init__()
        self.steps = nn.Parameter(torch.zeros(knots))
        self.register_buffer("centres", torch.linspace(0, 1, knots))

    def forward(self, grey):
        lift = torch.softmax(self.steps, 0)
        return (torch.sigmoid(20 * (grey.unsqueeze(-1) - self.centres)) * lift).sum(-1)


class Histogram(nn.Module):
    def __init__(self, bins=10):
        super().__init__()
        self.bins = bins
        self.register_buffer("edges", torch.linspace(0, 1, bins + 1)[1:-1])

    def forward(self, values):
        mids = (torch.arange(self.bins) + 0.5) / self.bins
        counts = (torch.softmax(-((values.unsqueeze(-1) - mids) * self.bins) ** 2, -1)).sum(-2)
        return counts / values.shape[-1]


class Matcher:
    def __init__(self, reference, lr=0.1):
        self.curve, self.hist = ToneCurve(), Histogram()
        self.goal = self.hist(reference).detach()
        self.opt = torch.optim.Adam(self.curve.parameters(), lr=lr)

    def step(self, photos):
        mapped = self.curve(photos).clamp(0, 1)
        ours = self.hist(mapped)
        loss = F.l1_loss(ours.cumsum(-1), self.goal.cumsum(-1).expand_as(ours))
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        self.opt.step()
        return loss.detach()

    def fit(self, photos, rounds=20):
        trail = torch.stack([self.step(photos) for _ in range(rounds)])
        return trail.tolist()


torch.manual_seed(2)
bright = torch.rand(1, 400) ** 0.5
dark = torch.rand(6, 400) ** 2
trail = Matcher(bright).fit(dark)
print("first", round(trail[0], 4), "last", round(trail[-1], 4))
