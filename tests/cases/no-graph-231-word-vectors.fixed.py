import random

import torch
from torch import nn

random.seed(7)
torch.manual_seed(7)

text = ("the cat sat on the mat the dog sat on the rug a cat and a dog met "
        "on the road the road went on and on").split()
vocab = sorted(set(text))
index = {w: i for i, w in enumerate(vocab)}


class SkipGram(nn.Module):
    def __init__(self, size, rank=10):
        super().__init__()
        self.centre = nn.Embedding(size, rank)
        self.around = nn.Embedding(size, rank)

    def score(self, a, b):
        return torch.dot(self.centre.weight[a], self.around.weight[b])

    def forward(self, pairs):
        scores = [self.score(a, b) for a, b in pairs]
        return torch.stack(scores)


def positive_pairs(window=2):
    ids = [index[w] for w in text]
    for i, a in enumerate(ids):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if i != j:
                yield a, ids[j]


def with_negatives(pairs, k=2):
    wrong = [(a, random.randrange(len(vocab))) for a, _ in pairs for _ in range(k)]
    truth = torch.tensor([1.0] * len(pairs) + [0.0] * len(wrong))
    return pairs + wrong, truth


model = SkipGram(len(vocab))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
positives = list(positive_pairs())
for epoch in range(4):
    random.shuffle(positives)
    for i in range(0, len(positives), 40):
        pairs, truth = with_negatives(positives[i:i + 40])
        loss = nn.functional.binary_cross_entropy_with_logits(model(pairs), truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    near = (model.centre.weight.detach() @ model.centre.weight.detach()[index["cat"]]).argsort(descending=True)
    print(epoch, round(loss.item(), 4), [vocab[i] for i in near.tolist()[:3]])
