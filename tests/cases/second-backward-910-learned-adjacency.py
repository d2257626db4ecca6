import torch
import torch.nn as nn
from torch.nn import functional as F

CONFIG = dict(nodes=9, dim=5, hidden=12, horizon=2, window=6, epochs=3, lr=4e-3)


def build_adjacency(embedding, k=4):
    scores = F.relu(embedding @ embedding.t())
    keep = torch.zeros_like(scores).scatter_(1, scores.topk(k, dim=1).indices, 1.0)
    weights = torch.softmax(scores, dim=1) * keep
    return weights / weights.sum(1, keepdim=True)


class GraphConv(nn.Module):
    def __init__(self, cin, cout, hops=2):
        super().__init__()
        self.mix = nn.Linear(cin * (hops + 1), cout)
        self.hops = hops

    def forward(self, x, adj):
        seen = [x]
        for _ in range(self.hops):
            seen.append(torch.einsum("nm,bmc->bnc", adj, seen[-1]))
        return self.mix(torch.cat(seen, dim=-1))


class Forecaster(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.nodes = nn.Parameter(torch.randn(cfg["nodes"], cfg["dim"]))
        self.inp = GraphConv(cfg["window"], cfg["hidden"])
        self.out = GraphConv(cfg["hidden"], cfg["horizon"])

    def forward(self, history, adj):
        return self.out(F.elu(self.inp(history, adj)), adj)


def windows(series, window, horizon, batch):
    pairs = [
        (series[:, t : t + window], series[:, t + window : t + window + horizon])
        for t in range(series.size(1) - window - horizon)
    ]
    for i in range(0, len(pairs), batch):
        xs, ys = zip(*pairs[i : i + batch])
        yield torch.stack(xs), torch.stack(ys)


def masked_mae(pred, true):
    mask = (true != 0).float()
    return (mask * (pred - true).abs()).sum() / mask.sum().clamp(min=1)


def main(cfg):
    torch.manual_seed(6)
    t = torch.arange(30.0)
    series = torch.stack([torch.sin(0.3 * t + i) for i in range(cfg["nodes"])])
    model = Forecaster(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    adj = build_adjacency(model.nodes)
    for epoch in range(cfg["epochs"]):
        for history, future in windows(series, cfg["window"], cfg["horizon"], batch=8):
            loss = masked_mae(model(history, adj), future)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main(CONFIG)
