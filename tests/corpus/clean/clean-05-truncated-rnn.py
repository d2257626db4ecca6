import math

import torch
from torch import nn


def repackage(state):
    if isinstance(state, torch.Tensor):
        return state.detach()
    return tuple(repackage(s) for s in state)


class CharModel(nn.Module):
    def __init__(self, vocab, width=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.rnn = nn.LSTM(width, width, batch_first=True)
        self.out = nn.Linear(width, vocab)

    def forward(self, ids, state=None):
        h, state = self.rnn(self.embed(ids), state)
        return self.out(h), state


@torch.no_grad()
def sample(model, start, length, letters):
    ids, state = torch.tensor([[start]]), None
    text = [letters[start]]
    for _ in range(length):
        logits, state = model(ids, state)
        ids = torch.multinomial(logits[:, -1].softmax(-1), 1)
        text.append(letters[ids.item()])
    return "".join(text)


def main():
    torch.manual_seed(30)
    text = "she sells sea shells on the sea shore and the shells she sells are sea shells " * 8
    letters = sorted(set(text))
    ids = torch.tensor([letters.index(c) for c in text])
    rows = ids[: len(ids) // 4 * 4].view(4, -1)
    model = CharModel(len(letters))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(3):
        state, total, seen = None, 0.0, 0
        for i in range(0, rows.size(1) - 1, 20):
            x, y = rows[:, i:i + 20], rows[:, i + 1:i + 21]
            x = x[:, : y.size(1)]
            logits, state = model(x, state)
            state = repackage(state)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item() * y.numel()
            seen += y.numel()
        print(epoch, f"perplexity {math.exp(total / seen):.2f}", repr(sample(model, 0, 20, letters)))


main()
