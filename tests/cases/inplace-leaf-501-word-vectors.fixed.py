import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(11)

VOCAB = "pad the bank river money boat loan water cash fish".split()
DIM = 8


def published_vectors():
    """Vectors that somebody else trained, for a part of our vocabulary."""
    generator = torch.Generator().manual_seed(3)
    return {word: torch.randn(DIM, generator=generator) for word in VOCAB[1::2]}


class SenseTagger(nn.Module):
    def __init__(self, vocab, vectors, hidden=16, senses=2):
        super().__init__()
        self.index = {word: i for i, word in enumerate(vocab)}
        self.embedding = nn.Embedding(len(vocab), DIM, padding_idx=0)
        self.fill(vectors)
        self.context = nn.GRU(DIM, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, senses)

    def fill(self, vectors):
        found = 0
        for word, vector in vectors.items():
            if word in self.index:
                self.embedding.weight.data[self.index[word]] = vector
                found += 1
        print(f"{found} of {len(self.index)} words have a published vector")

    def forward(self, ids):
        states, _ = self.context(self.embedding(ids))
        return self.out(states.mean(dim=1))


def sentences(count, length=6):
    ids = torch.randint(1, len(VOCAB), (count, length))
    money = torch.tensor([VOCAB.index(w) for w in ("money", "loan", "cash")])
    return ids, torch.isin(ids, money).sum(dim=1).gt(1).long()


tagger = SenseTagger(VOCAB, published_vectors())
optimizer = torch.optim.Adam(tagger.parameters(), lr=5e-3)
for step in range(40):
    ids, sense = sentences(32)
    loss = F.cross_entropy(tagger(ids), sense)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step:2d}  loss {loss.item():.3f}")
