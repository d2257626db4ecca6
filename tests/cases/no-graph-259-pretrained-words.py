import torch
from torch import nn
import torch.nn.functional as F

WORDS = "red green blue crimson lime navy scarlet olive azure ruby jade sky".split()
GROUP = torch.tensor([0, 1, 2] * 4)


class WordSpace(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        self.table = nn.Embedding.from_pretrained(vectors)

    def forward(self, ids):
        return F.normalize(self.table(ids), dim=-1)

    @torch.no_grad()
    def nearest(self, word, k=3):
        space = self(torch.arange(len(WORDS)))
        order = (space @ space[WORDS.index(word)]).argsort(descending=True)
        return [WORDS[i] for i in order.tolist() if WORDS[i] != word][:k]


def triplets(n):
    rows = []
    while len(rows) < n:
        a, p, q = torch.randint(0, len(WORDS), (3,)).tolist()
        if a != p and GROUP[a] == GROUP[p] and GROUP[a] != GROUP[q]:
            rows.append((a, p, q))
    return torch.tensor(rows).unbind(1)


def retrofit(space, steps=40):
    optimizer = torch.optim.SGD(space.parameters(), lr=0.5)
    margin = nn.TripletMarginLoss(margin=0.5)
    for n in range(steps):
        anchor, same, other = (space(ids) for ids in triplets(16))
        loss = margin(anchor, same, other)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if n % 10 == 0:
            print(n, round(loss.item(), 4))


torch.manual_seed(53)
space = WordSpace(torch.randn(len(WORDS), 8))
print("before", space.nearest("red"))
retrofit(space)
print("after", space.nearest("red"))
