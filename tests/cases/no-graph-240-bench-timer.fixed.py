import functools
import time

import torch
from torch import nn

torch.manual_seed(35)
SECONDS = {}


def timed(name):
    def wrap(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            start = time.perf_counter()
            result = function(*args, **kwargs)

            SECONDS[name] = SECONDS.get(name, 0.0) + time.perf_counter() - start
            return result
        return inner
    return wrap


class Sentiment(nn.Module):
    def __init__(self, vocab=50, width=16):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, width, mode="mean")
        self.out = nn.Linear(width, 2)

    def forward(self, ids):
        return self.out(self.bag(ids))


def reviews(n, vocab=50, length=10):
    ids = torch.randint(0, vocab, (n, length))
    return ids, (ids.float().mean(1) > vocab / 2).long()


@timed("forward")
def run_batch(model, ids, labels):
    logits = model(ids)
    return nn.functional.cross_entropy(logits, labels), logits


@timed("evaluate")
def accuracy(model, ids, labels):
    return model(ids).argmax(1).eq(labels).float().mean().item()


def main():
    model = Sentiment()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    train, test = reviews(320), reviews(80)
    print("start", round(accuracy(model, *test), 3))
    for epoch in range(4):
        for idx in torch.randperm(320).split(40):
            loss, logits = run_batch(model, train[0][idx], train[1][idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, round(loss.item(), 4), round(accuracy(model, *test), 3))
    print("parts timed:", sorted(SECONDS))


main()
