import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(134)
LEVELS = 4


class BalancedLoss(nn.Module):
    """Cross entropy with class weights that are learned along with the model."""

    def __init__(self, counts):
        super().__init__()
        self.log_weight = nn.Parameter(-counts.log())
        self.strength = 0.1

    def forward(self, logits, level):
        weight = F.softmax(self.log_weight, dim=0) * LEVELS
        loss = (weight[level] * F.cross_entropy(logits, level, reduction="none")).mean()
        return loss + self.strength * (weight - 1).pow(2).mean()


class TriageNet(nn.Module):
    def __init__(self, signs=7, hidden=24, depth=2):
        super().__init__()
        widths = [signs] + [hidden] * depth
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))
        self.level = nn.Linear(hidden, LEVELS)

    def forward(self, x):
        for layer in self.hidden:
            x = F.leaky_relu(layer(x), 0.1)
        return self.level(x)


def arrivals(n):
    signs = torch.randn(n, 7)
    severity = signs[:, 0] + 0.7 * signs[:, 1].abs() + 0.3 * torch.randn(n)
    return signs, torch.bucketize(severity, torch.tensor([0.5, 1.5, 2.5]))


signs, level = arrivals(600)
counts = torch.bincount(level, minlength=LEVELS).float()
net, criterion = TriageNet(), BalancedLoss(counts)
optimizer = torch.optim.Adam([*net.parameters(), *criterion.parameters()], lr=5e-3)

for epoch in range(6):
    for rows in torch.randperm(len(level)).chunk(12):
        loss = criterion(net(signs[rows]), level[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 2 == 0:
        print(f"epoch {epoch}  loss {loss.item():.3f}")

print("weights", [round(w, 2) for w in F.softmax(criterion.log_weight, dim=0).tolist()])
