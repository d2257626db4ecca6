import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(61)


class Petals(Dataset):
    def __init__(self, count=96):
        self.y = torch.randint(3, (count,))
        self.x = F.one_hot(self.y, 3).float() @ torch.randn(3, 5) + 0.6 * torch.randn(count, 5)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return i, self.x[i], self.y[i]


class SoftTargets:
    def __init__(self, count, classes, momentum=0.7):
        self.table = [torch.full((classes,), 1.0 / classes) for _ in range(count)]
        self.momentum = momentum

    def lookup(self, index):
        return torch.stack([self.table[i] for i in index.tolist()])

    def blend(self, index, probs):
        for i, p in zip(index.tolist(), probs):
            self.table[i] = self.momentum * self.table[i] + (1 - self.momentum) * p


def net():
    return nn.Sequential(nn.Linear(5, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))


def regularised_loss(logits, labels, targets, strength):
    probs = logits.softmax(dim=1).clamp(1e-4, 1 - 1e-4)
    agreement = (1 - (targets * probs).sum(dim=1)).log().mean()
    return F.cross_entropy(logits, labels) + strength * agreement, probs


def main():
    data = Petals()
    model, memory = net(), SoftTargets(len(data), 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(4):
        seen = 0.0
        for index, x, y in DataLoader(data, batch_size=24, shuffle=True):
            logits = model(x)
            loss, probs = regularised_loss(logits, y, memory.lookup(index), strength=0.5 * epoch)
            memory.blend(index, probs)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += loss.item()
        print(f"epoch {epoch}  loss {seen / 4:.3f}")


main()
