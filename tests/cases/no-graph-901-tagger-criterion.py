import logging
from collections import OrderedDict
from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.WARNING)
log = logging.getLogger("tagger")


@dataclass
class Settings:
    vocab: int = 50
    width: int = 16
    tags: int = 5
    epochs: int = 2
    weights: dict = field(default_factory=lambda: {"tag": 1.0, "length": 0.1, "entropy": 0.01})


class Tagger(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg.vocab, cfg.width)
        self.rnn = nn.GRU(cfg.width, cfg.width, batch_first=True, bidirectional=True)
        self.tag = nn.Linear(2 * cfg.width, cfg.tags)
        self.length = nn.Linear(2 * cfg.width, 1)

    def forward(self, tokens):
        states, _ = self.rnn(self.embed(tokens))
        return {"tag": self.tag(states), "length": self.length(states.mean(1)).squeeze(-1)}


class Criterion:
    def __init__(self, weights):
        self.weights = weights
        self.last = OrderedDict()

    def terms(self, out, tags, lengths):
        yield "tag", F.cross_entropy(out["tag"].flatten(0, 1), tags.flatten())
        yield "length", F.smooth_l1_loss(out["length"], lengths)
        logp = F.log_softmax(out["tag"], dim=-1)
        yield "entropy", (logp.exp() * logp).sum(-1).mean()

    def __call__(self, out, tags, lengths):
        self.last.clear()
        for name, value in self.terms(out, tags, lengths):
            self.last[name] = self.weights[name] * value.item()
        return torch.as_tensor(sum(self.last.values()))


def train(cfg):
    torch.manual_seed(3)
    tokens = torch.randint(0, cfg.vocab, (24, 7))
    data = TensorDataset(tokens, tokens % cfg.tags, (tokens > 0).float().sum(1))
    model, criterion = Tagger(cfg), Criterion(cfg.weights)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(cfg.epochs):
        for tokens, tags, lengths in DataLoader(data, batch_size=8):
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(model(tokens), tags, lengths)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        log.info("epoch %d %s", epoch, {k: round(float(v), 3) for k, v in criterion.last.items()})


if __name__ == "__main__":
    train(Settings())
