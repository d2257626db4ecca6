import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(82)
KNOWN = 20


class QueryNet(nn.Module):
    def __init__(self, vectors, extra=8, topics=4):
        super().__init__()
        dim = vectors.shape[1]
        self.words = nn.Embedding(len(vectors) + extra, dim)
        with torch.no_grad():
            self.words.weight[:len(vectors)] = vectors
        self.hidden = nn.Linear(dim, 24)
        self.out = nn.Linear(24, topics)

    def forward(self, ids):
        return self.out(torch.tanh(self.hidden(self.words(ids).mean(dim=1))))


def queries(n=32):
    ids = torch.randint(0, 28, (n, 5))
    return ids, ids.sum(dim=1) // 35 % 4


def step(net, optimizer):
    ids, topic = queries()
    loss = F.cross_entropy(net(ids), topic)
    optimizer.zero_grad()
    loss.backward()
    net.words.weight.grad[:KNOWN] = 0
    optimizer.step()
    return loss.item()


vectors = torch.randn(KNOWN, 12)
net = QueryNet(vectors)
optimizer = torch.optim.AdamW([{"params": net.words.parameters(), "weight_decay": 0.0}, {"params": [*net.hidden.parameters(), *net.out.parameters()]}], lr=3e-3, weight_decay=0.1)
for it in range(60):
    value = step(net, optimizer)
    if it % 20 == 0:
        print(it, round(value, 4))
print("known vectors kept:", torch.equal(net.words.weight[:KNOWN], vectors))
