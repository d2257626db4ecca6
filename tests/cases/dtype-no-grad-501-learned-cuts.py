import torch
from torch import nn

torch.manual_seed(41)


def starting_cuts(ages, groups):
    """Cut points so that every group holds about the same number of people."""
    share = torch.arange(1, groups) / groups
    return torch.quantile(ages, share).round().long()


class SoftBins(nn.Module):
    def __init__(self, cuts, width=3.0):
        super().__init__()
        self.cuts = nn.Parameter(cuts)
        self.log_width = nn.Parameter(torch.tensor(width).log())

    def forward(self, x):
        above = torch.sigmoid((x[:, None] - self.cuts) / self.log_width.exp())
        edge = x.new_ones(len(x), 1)
        return torch.cat([edge, above], dim=1) - torch.cat([above, 0 * edge], dim=1)


class PremiumModel(nn.Module):
    def __init__(self, ages, groups=4):
        super().__init__()
        self.bins = SoftBins(starting_cuts(ages, groups))
        self.price = nn.Linear(groups, 1, bias=False)

    def forward(self, ages):
        return self.price(self.bins(ages)).squeeze(1)


def customers(n):
    ages = 18 + 60 * torch.rand(n)
    claims = torch.where(ages < 27, 3.0, torch.where(ages < 66, 1.0, 2.0))
    return ages, claims + 0.2 * torch.randn(n)


def main():
    ages, claims = customers(400)
    model = PremiumModel(ages)
    optimizer = torch.optim.Adam([
        {"params": model.bins.parameters(), "lr": 0.2},
        {"params": model.price.parameters(), "lr": 0.05},
    ])
    for epoch in range(60):
        loss = (model(ages) - claims).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"mse {loss.item():.3f}")
    print("cuts", [round(cut, 1) for cut in model.bins.cuts.tolist()])


main()
