import random

import torch
import torch.nn as nn

PAD, START, END = 0, 1, 2
ALPHABET = {c: i + 3 for i, c in enumerate("0123456789-/")}


def encode(text):
    return [ALPHABET[c] for c in text] + [END]


def pair():
    day, month, year = random.randint(1, 28), random.randint(1, 12), random.randint(1990, 2020)
    return encode(f"{day}/{month}/{year}"), encode(f"{year}-{month:02d}-{day:02d}")


def collate(pairs):
    sources, targets = zip(*pairs)
    pad = nn.utils.rnn.pad_sequence
    lengths = torch.tensor([len(s) for s in sources])
    source = pad([torch.tensor(s) for s in sources], batch_first=True)
    target = pad([torch.tensor([START, *t]) for t in targets], batch_first=True)
    return source, lengths, target


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.score = nn.Linear(2 * width, 1, bias=False)

    def forward(self, state, memory, mask):
        query = state.unsqueeze(1).expand(-1, memory.size(1), -1)
        energy = self.score(torch.tanh(torch.cat([query, memory], dim=-1))).squeeze(-1)
        weights = energy.masked_fill(~mask, float("-inf")).softmax(dim=-1)
        return (weights.unsqueeze(1) @ memory).squeeze(1)


class Translator(nn.Module):
    def __init__(self, tokens, width=24):
        super().__init__()
        self.embed = nn.Embedding(tokens, width, padding_idx=PAD)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.attend = Attention(width)
        self.cell = nn.GRUCell(2 * width, width)
        self.out = nn.Linear(width, tokens)

    def encode(self, source, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(source), lengths, batch_first=True, enforce_sorted=False)
        memory, last = self.encoder(packed)
        memory, _ = nn.utils.rnn.pad_packed_sequence(memory, batch_first=True, total_length=source.size(1))
        return memory, last.squeeze(0), source != PAD

    def forward(self, source, lengths, target, forcing=0.7):
        memory, state, mask = self.encode(source, lengths)
        token, outputs = target[:, 0], []
        for t in range(1, target.size(1)):
            context = self.attend(state, memory, mask)
            state = self.cell(torch.cat([self.embed(token), context], dim=-1), state)
            logits = self.out(state)
            outputs.append(logits)
            token = target[:, t] if random.random() < forcing else logits.argmax(dim=-1)
        return torch.stack(outputs, dim=1)

    @torch.no_grad()
    def translate(self, source, lengths, limit=12):
        memory, state, mask = self.encode(source, lengths)
        token = torch.full((len(source),), START)
        tokens = []
        for _ in range(limit):
            state = self.cell(torch.cat([self.embed(token), self.attend(state, memory, mask)], dim=-1), state)
            token = self.out(state).argmax(-1)
            tokens.append(token)
        return torch.stack(tokens, dim=1)


def main():
    torch.manual_seed(8)
    random.seed(8)
    model = Translator(len(ALPHABET) + 3)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(6):
        source, lengths, target = collate([pair() for _ in range(16)])
        logits = model(source, lengths, target)
        loss = criterion(logits.flatten(0, 1), target[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 3 == 0:
            model.eval()
            right = (model.translate(source, lengths)[:, 0] == target[:, 1]).float().mean()
            model.train()
            print(step, loss.item(), right.item())


main()
