import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(93)


class Summariser(nn.Module):
    def __init__(self, vocab=30, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[0])


class Trainer:
    def __init__(self, model, accumulate=4, lr=3e-3):
        self.model, self.accumulate = model, accumulate
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.updates = 0

    def train(self, batches):
        total = 0.0
        for i, ids in enumerate(batches):
            self.optimizer.zero_grad()
            logits = self.model(ids[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            (loss / self.accumulate).backward()
            if (i + 1) % self.accumulate == 0:
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                self.updates += 1
            total += loss.item()
        return total / len(batches)


def documents(count, n=4, length=10):
    out = []
    for _ in range(count):
        start = torch.randint(0, 30, (n, 1))
        out.append((start + 7 * torch.arange(length)) % 30)
    return out


trainer = Trainer(Summariser())
for epoch in range(4):
    print(f"epoch {epoch} loss {trainer.train(documents(16)):.4f} updates {trainer.updates}")
