import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)


class FocalLoss(nn.Module):
    def __init__(self, alpha=0.75, gamma=2.0):
        super().__init__()
        self.alpha, self.gamma = alpha, gamma

    def forward(self, logits, target):
        bce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        p = torch.exp(-bce)
        alpha = self.alpha * target + (1 - self.alpha) * (1 - target)
        return alpha * (1 - p) ** self.gamma * bce


class SmoothnessLoss(nn.Module):
    def forward(self, attention):
        return attention.diff(dim=-1).pow(2).mean()


class NoduleNet(nn.Module):
    def __init__(self, slices=24, width=10):
        super().__init__()
        self.encode = nn.Conv1d(2, width, 5, padding=2)
        self.attend = nn.Conv1d(width, 1, 1)
        self.judge = nn.Linear(width, 1)

    def forward(self, scan):
        h = torch.relu(self.encode(scan))
        attention = self.attend(h).softmax(dim=-1)
        return self.judge((h * attention).sum(dim=-1)).squeeze(-1), attention


def scans(n, slices=24):
    scan = torch.randn(n, 2, slices)
    ill = (torch.rand(n) < 0.2).float()
    where = torch.randint(0, slices - 3, (n,))
    for i in ill.nonzero().flatten().tolist():
        scan[i, 0, where[i]:where[i] + 3] += 2.5
    return scan, ill


def main():
    net = NoduleNet()
    focal, smooth = FocalLoss(), SmoothnessLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(30):
        scan, ill = scans(48)
        logits, attention = net(scan)
        terms = {"focal": focal(logits, ill), "smooth": 0.1 * smooth(attention)}
        loss = sum(terms.values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, {name: round(float(term), 4) for name, term in terms.items()})


main()
