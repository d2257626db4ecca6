import torch
from torch import nn
from torch.autograd import Variable


def cut(states):
    return [Variable(s.data) for s in states]


class Cells(nn.Module):
    def __init__(self, vocab=16, width=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.cell = nn.LSTMCell(width, width)
        self.out = nn.Linear(width, vocab)
        self.width = width

    def start(self, batch):
        return [torch.zeros(batch, self.width), torch.zeros(batch, self.width)]

    def forward(self, chunk, states):
        h, c = states
        outputs = []
        for t in range(chunk.size(1)):
            h, c = self.cell(self.embed(chunk[:, t]), (h, c))
            outputs.append(self.out(h))
        outputs, (h, c) = torch.stack(outputs, 1), cut([h, c])
        return outputs, [h, c]


def melody(batch=8, length=49, vocab=16):
    start = torch.randint(0, vocab, (batch, 1))
    step = torch.randint(1, 4, (batch, 1))
    return (start + step * torch.arange(length)) % vocab


def train(model, epochs=4, chunk=12):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        notes = melody()
        states = model.start(len(notes))
        total = 0.0
        for i in range(0, notes.size(1) - 1, chunk):
            logits, states = model(notes[:, i:i + chunk], states)
            target = notes[:, i + 1:i + 1 + chunk]
            loss = criterion(logits.flatten(0, 1), target.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.data.item()
        print("epoch", epoch, "loss", round(total, 3))


torch.manual_seed(100)
train(Cells())
