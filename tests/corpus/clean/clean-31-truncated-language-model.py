import argparse
import math
from pathlib import Path

import torch
import torch.nn as nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

TEXT = "the quick brown fox jumps over the lazy dog and runs away from the old bear " * 8


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", type=Path)
    parser.add_argument("--bptt", type=int, default=12)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--tied", action="store_true", default=True)
    return parser.parse_args([])


class Corpus:
    def __init__(self, path):
        text = path.read_text() if path else TEXT
        self.letters = sorted(set(text))
        number = {c: i for i, c in enumerate(self.letters)}
        self.tokens = torch.tensor([number[c] for c in text])

    def columns(self, batch):
        size = len(self.tokens) // batch
        return self.tokens[: size * batch].view(batch, size).t().contiguous()


class LanguageModel(nn.Module):
    def __init__(self, tokens, width=24, tied=True):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.encoder = nn.Embedding(tokens, width)
        self.rnn = nn.LSTM(width, width, num_layers=2, dropout=0.1)
        self.decoder = nn.Linear(width, tokens)
        if tied:
            self.decoder.weight = self.encoder.weight

    def begin(self, batch):
        weight = next(self.parameters())
        return weight.new_zeros(2, batch, 24), weight.new_zeros(2, batch, 24)

    def forward(self, tokens, state):
        out, state = self.rnn(self.drop(self.encoder(tokens)), state)
        return self.decoder(self.drop(out)), state


def repackage(state):
    if isinstance(state, torch.Tensor):
        return state.detach()
    return tuple(repackage(part) for part in state)


def epoch(model, data, args, optimizer=None, averaged=None):
    model.train(optimizer is not None)
    state, total = model.begin(data.size(1)), 0.0
    for start in range(0, data.size(0) - 1, args.bptt):
        size = min(args.bptt, data.size(0) - 1 - start)
        state = repackage(state)
        output, state = model(data[start : start + size], state)
        loss = nn.functional.cross_entropy(output.flatten(0, 1), data[start + 1 : start + 1 + size].flatten())
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            optimizer.step()
            averaged.update_parameters(model)
        total += size * loss.item()
    return math.exp(total / (data.size(0) - 1))


def main(args):
    torch.manual_seed(19)
    corpus = Corpus(args.text)
    model = LanguageModel(len(corpus.letters), tied=args.tied)
    averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for turn in range(args.epochs):
        seen = epoch(model, corpus.columns(args.batch), args, optimizer, averaged)
        with torch.no_grad():
            held_out = epoch(averaged.module, corpus.columns(2), args)
        print(turn, seen, held_out)


if __name__ == "__main__":
    main(arguments())
