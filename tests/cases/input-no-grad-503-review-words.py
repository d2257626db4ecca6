import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(19)

WORDS = "the a plot acting was is dull great boring superb weak moving film ending".split()
INDEX = {w: i for i, w in enumerate(WORDS)}
GOOD = {"great", "superb", "moving"}


def load_vectors(dim=16):
    vectors = torch.randn(len(WORDS), dim)
    return F.normalize(vectors, dim=1)


class ReviewNet(nn.Module):
    def __init__(self, vectors, hidden=20):
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors)
        self.rnn = nn.GRU(vectors.size(1), hidden, batch_first=True)
        self.score = nn.Linear(hidden, 1)

    def run(self, vectors):
        states, _ = self.rnn(vectors)
        return self.score(states.mean(1)).squeeze(1)

    def forward(self, tokens):
        return self.run(self.words(tokens))


class WordImportance:
    def __init__(self, net):
        self.net = net

    def explain(self, text):
        tokens = torch.tensor([[INDEX[w] for w in text.split()]])
        vectors = self.net.words(tokens)
        score = self.net.run(vectors)
        slope, = torch.autograd.grad(score.sum(), vectors)
        weights = (slope * vectors).sum(-1).squeeze(0)
        return list(zip(text.split(), weights.tolist()))


def batches(count, size=24, length=6):
    for _ in range(count):
        tokens = torch.randint(len(WORDS), (size, length))
        labels = [float(any(WORDS[t] in GOOD for t in row)) for row in tokens.tolist()]
        yield tokens, torch.tensor(labels)


net = ReviewNet(load_vectors())
optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-2)
for tokens, labels in batches(60):
    loss = F.binary_cross_entropy_with_logits(net(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
for word, weight in WordImportance(net).explain("the acting was superb"):
    print(f"{word:>10} {weight:+.3f}")
