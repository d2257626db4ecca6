import torch
import torch.nn as nn
import torch.nn.functional as F


class TagModel(nn.Module):
    def __init__(self, vocab=60, tags=5, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, tags)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[0])


class Runner:
    def __init__(self, model, lr=3e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.history = []

    def shared_step(self, batch):
        ids, tags = batch
        logits = self.model(ids)
        loss = F.cross_entropy(logits.flatten(0, 1), tags.flatten())
        accuracy = (logits.argmax(-1) == tags).float().mean()
        return loss, accuracy

    def training_step(self, batch):
        loss, accuracy = self.shared_step(batch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.history.append(loss.item())

    def validation(self, batches):
        return sum(self.shared_step(b)[1].item() for b in batches) / len(batches)


def sentences(count):
    ids = torch.randint(0, 60, (count, 9))
    return ids, ids % 5


torch.manual_seed(4)
runner = Runner(TagModel())
held_out = [sentences(16) for _ in range(3)]
for epoch in range(3):
    for _ in range(8):
        runner.training_step(sentences(16))
    print(epoch, round(runner.history[-1], 4), round(runner.validation(held_out), 3))
