from copy import deepcopy

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Parameter(torch.zeros(dim))
        self.key = nn.Linear(dim, dim)
        self.attention = None

    def forward(self, x):
        scores = torch.tanh(self.key(x)) @ self.query
        self.attention = scores.softmax(dim=1)
        return torch.einsum("bt,btd->bd", self.attention, x)


class Reader(nn.Module):
    def __init__(self, vocab=40, dim=12):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.conv = nn.Conv1d(dim, dim, 3, padding=1)
        self.pool = AttentionPool(dim)
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(dim, 1))

    def forward(self, tokens):
        x = self.conv(self.embed(tokens).transpose(1, 2)).relu().transpose(1, 2)
        return self.head(self.pool(x)).squeeze(1)


class Callback:
    def on_epoch_end(self, trainer, metrics): ...


class KeepBest(Callback):
    def __init__(self, metric):
        self.metric, self.value, self.model = metric, None, None

    def on_epoch_end(self, trainer, metrics):
        if self.value is None or metrics[self.metric] < self.value:
            self.value = metrics[self.metric]
            self.model = deepcopy(trainer.model)


class Trainer:
    def __init__(self, model, *callbacks):
        self.model, self.callbacks = model, callbacks
        self.optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def fit(self, loader, epochs):
        for _ in range(epochs):
            self.model.train()
            losses = []
            for tokens, label in loader:
                loss = F.binary_cross_entropy_with_logits(self.model(tokens), label)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                losses.append(loss.item())
            for callback in self.callbacks:
                callback.on_epoch_end(self, {"train_loss": sum(losses) / len(losses)})


if __name__ == "__main__":
    torch.manual_seed(0)
    tokens = torch.randint(0, 40, (32, 9))
    data = TensorDataset(tokens, (tokens > 20).float().mean(1).round())
    best = KeepBest("train_loss")
    Trainer(Reader(), best).fit(DataLoader(data, batch_size=8), epochs=2)
    print(f"best {best.value:.3f}")
