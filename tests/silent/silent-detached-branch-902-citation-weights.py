import torch
import torch.nn.functional as F
from torch import nn


class NeighbourPool(nn.Module):
    def __init__(self, dim, keep=3):
        super().__init__()
        self.keep = keep
        self.scorer = nn.Bilinear(dim, dim, 1)
        self.proj = nn.Linear(2 * dim, dim)

    def rank(self, node, neighbours, feats):
        scores = self.scorer(feats[node].expand(len(neighbours), -1).contiguous(), feats[neighbours]).squeeze(1)
        pairs = list(zip(neighbours, scores))
        return sorted(pairs, key=lambda pair: -pair[1].item())[: self.keep]

    def forward(self, feats, adjacency):
        rows = []
        for node, neighbours in enumerate(adjacency):
            ranked = self.rank(node, neighbours, feats)
            weights = F.softmax(torch.tensor([s for _, s in ranked]), dim=0)
            message = weights @ feats[[n for n, _ in ranked]]
            rows.append(torch.cat([feats[node], message]))
        return F.relu(self.proj(torch.stack(rows)))


class CitationNet(nn.Module):
    def __init__(self, n_feat, dim, n_class):
        super().__init__()
        self.embed = nn.Linear(n_feat, dim)
        self.pools = nn.ModuleList([NeighbourPool(dim), NeighbourPool(dim)])
        self.head = nn.Linear(dim, n_class)

    def forward(self, x, adjacency):
        h = torch.tanh(self.embed(x))
        for pool in self.pools:
            h = h + pool(h, adjacency)
        return self.head(h)


def make_graph(n, gen):
    adjacency = []
    for i in range(n):
        others = torch.randperm(n, generator=gen)[:5].tolist()
        adjacency.append([j for j in others if j != i] or [(i + 1) % n])
    return adjacency


def accuracy(logits, labels, mask):
    return (logits.argmax(1) == labels)[mask].float().mean().item()


torch.manual_seed(5)
gen = torch.Generator().manual_seed(5)
N = 24
x, y = torch.randn(N, 10), torch.randint(0, 3, (N,))
adjacency = make_graph(N, gen)
train_mask = torch.arange(N) % 3 != 0
net = CitationNet(10, 16, 3)
opt = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(12):
    net.train()
    opt.zero_grad()
    logits = net(x, adjacency)
    loss = F.cross_entropy(logits[train_mask], y[train_mask])
    loss.backward()
    opt.step()
    if epoch % 4 == 3:
        print(epoch, loss.item(), accuracy(logits, y, train_mask), accuracy(logits, y, ~train_mask))
assert all(p.grad is None for pool in net.pools for p in pool.scorer.parameters())
