import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")


class Sentiment(nn.Module):
    def __init__(self, vocab=40, dim=12, length=9):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.position = nn.Parameter(torch.zeros(length, dim))
        self.encode = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, 2)

    def words(self, ids):
        return self.embed(ids) + self.position

    def classify(self, words):
        return self.out(self.encode(words)[1][-1])


class Attack:
    """Adds a small step along the gradient to the word vectors and trains on those too."""

    def __init__(self, model, epsilon=0.3):
        self.model, self.epsilon, self.used = model, epsilon, 0

    def direction(self, words):
        grad = words.grad
        if grad is None or not grad.norm() > 0:
            return None
        return self.epsilon * grad / grad.norm(dim=-1, keepdim=True).clamp(min=1e-8)

    def losses(self, ids, label, loss_fn):
        def run():
            words = self.model.words(ids)
            loss = loss_fn(self.model.classify(words), label)
            loss.backward()
            step = self.direction(words)
            if step is not None:
                self.used += 1
                loss_fn(self.model.classify(self.model.words(ids) + step), label).backward()
            return loss.item()

        return run


torch.manual_seed(150)
model = Sentiment()
attack = Attack(model)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(12):
    ids = torch.randint(0, 40, (16, 9))
    label = (ids < 20).float().mean(1).round().long()
    optimizer.zero_grad()
    value = attack.losses(ids, label, nn.CrossEntropyLoss())()
    optimizer.step()
    print(step, round(value, 4))
assert attack.used == 0
