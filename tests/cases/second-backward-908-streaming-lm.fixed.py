import math

import torch
import torch.nn as nn


class Vocabulary:
    def __init__(self, text):
        self.chars = sorted(set(text))
        self.index = {c: i for i, c in enumerate(self.chars)}

    def encode(self, text):
        return torch.tensor([self.index[c] for c in text])


class StreamModel(nn.Module):
    def __init__(self, vocab, hidden=24, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.cells = nn.ModuleList([nn.LSTMCell(hidden, hidden) for _ in range(layers)])
        self.decode = nn.Linear(hidden, vocab)
        self.reset()

    def reset(self):
        self.state = [None] * len(self.cells)

    def step(self, x):
        for i, cell in enumerate(self.cells):
            self.state[i] = cell(x, self.state[i])
            x = self.state[i][0]
        return x

    def forward(self, tokens):
        self.state = [s and (s[0].detach(), s[1].detach()) for s in self.state]
        outs = [self.step(x) for x in self.embed(tokens).unbind(1)]
        return self.decode(torch.stack(outs, dim=1))


def chunks(stream, rows, length):
    stream = stream[: stream.numel() // rows * rows].view(rows, -1)
    for start in range(0, stream.size(1) - 1, length):
        stop = min(start + length, stream.size(1) - 1)
        yield stream[:, start:stop], stream[:, start + 1 : stop + 1]


def train(text, epochs=2):
    vocab = Vocabulary(text)
    stream = vocab.encode(text)
    model = StreamModel(len(vocab.chars))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.reset()
        nats = count = 0
        for x, y in chunks(stream, rows=4, length=8):
            logits = model(x)
            loss = loss_fn(logits.reshape(-1, logits.size(-1)), y.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            optimizer.step()
            nats, count = nats + loss.item() * y.numel(), count + y.numel()
        print(f"epoch {epoch}: perplexity {math.exp(nats / count):.2f}")


torch.manual_seed(0)
train("the quick brown fox jumps over the lazy dog and runs away " * 3)
