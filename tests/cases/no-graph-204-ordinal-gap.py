import torch
from torch import nn

torch.manual_seed(77)


class SeverityNet(nn.Module):
    def __init__(self, features, levels):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 32), nn.ReLU(), nn.Dropout(0.1))
        self.levels = nn.Linear(32, levels)

    def forward(self, x):
        return self.levels(self.body(x))


def level_gap(outputs, levels):
    winner = torch.max(outputs, 1)[1].float()
    return nn.functional.l1_loss(winner, levels.float())


def summary(outputs, levels):
    with torch.no_grad():
        hits = outputs.argmax(1).eq(levels).float().mean().item()
    return {"hits": hits, "gap": level_gap(outputs, levels).item()}


def run_epoch(net, data, criteria, optimizer=None):
    rows = []
    for x, y in data:
        outputs = net(x)
        loss = sum(weight * criterion(outputs, y) for weight, criterion in criteria)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        rows.append({"loss": loss.item(), **summary(outputs, y)})
    return {key: sum(row[key] for row in rows) / len(rows) for key in rows[0]}


features = torch.randn(192, 9)
severity = (features[:, :3].sum(1) + 2).clamp(0, 3.99).long()
batches = list(zip(features.split(24), severity.split(24)))

net = SeverityNet(9, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
criteria = [(1.0, level_gap)]
for epoch in range(8):
    net.train()
    train = run_epoch(net, batches[:6], criteria, optimizer)
    net.eval()
    valid = run_epoch(net, batches[6:], criteria)
    print(epoch, {k: round(v, 3) for k, v in train.items()}, round(valid["gap"], 3))
