import torch
from torch import nn
import torch.nn.functional as F


class MessageLayer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.own, self.near = nn.Linear(i, o), nn.Linear(i, o, bias=False)

    def forward(self, x, links):
        return F.elu(self.own(x) + links @ self.near(x))


class GraphNet(nn.Module):
    def __init__(self, features=5, width=12):
        super().__init__()
        self.one = MessageLayer(features, width)
        self.two = MessageLayer(width, width)

    def forward(self, x, links):
        return self.two(self.one(x, links), links)


def collate(rows):
    if isinstance(rows, (list, tuple)):
        rows = torch.cat([row.unsqueeze(0) for row in rows])
    return rows.to(torch.float32)


def pooled(net, graphs):
    return collate([net(x, links).mean(0) for x, links in graphs])


def random_graphs(count):
    out = []
    for _ in range(count):
        n = int(torch.randint(4, 9, ()))
        links = (torch.rand(n, n) > 0.6).float()
        out.append((torch.randn(n, 5) + links.mean(), links / links.sum(1, keepdim=True).clamp(min=1)))
    return out


def density(graphs):
    return collate([(links > 0).float().mean() for _, links in graphs])


def main(epochs=6):
    torch.manual_seed(38)
    net = GraphNet()
    readout = torch.randn(12)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    train, test = random_graphs(64), random_graphs(16)
    for epoch in range(epochs):
        for i in range(0, 64, 16):
            graphs = train[i:i + 16]
            loss = F.mse_loss(pooled(net, graphs) @ readout, density(graphs))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            gap = (pooled(net, test) @ readout - density(test)).abs().mean().item()
        print(f"{epoch} train {loss.item():.4f} test gap {gap:.4f}")


if __name__ == "__main__":
    main()
