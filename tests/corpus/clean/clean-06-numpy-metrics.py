import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Scores:
    def __init__(self):
        self.truth, self.score, self.losses = [], [], []

    def add(self, logits, y, loss):
        self.truth.extend(y.tolist())
        self.score.append(torch.sigmoid(logits).detach().cpu().numpy())
        self.losses.append(loss.item())

    def auc(self):
        truth, score = np.array(self.truth), np.concatenate(self.score)
        ranks = score.argsort().argsort() + 1
        positive = truth.sum()
        return (ranks[truth == 1].sum() - positive * (positive + 1) / 2) / (positive * (len(truth) - positive))

    def summary(self):
        decided = np.concatenate(self.score) > 0.5
        return {"loss": float(np.mean(self.losses)), "auc": float(self.auc()), "acc": float((decided == np.array(self.truth)).mean())}


def make(n, rng):
    x = rng.normal(size=(n, 8)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).astype(np.float32)
    return TensorDataset(torch.from_numpy(x), torch.as_tensor(y))


def run(model, loader, criterion, optimizer=None):
    scores = Scores()
    model.train(optimizer is not None)
    with torch.set_grad_enabled(optimizer is not None):
        for x, y in loader:
            logits = model(x).squeeze(1)
            loss = criterion(logits, y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            scores.add(logits, y, loss)
    return scores.summary()


torch.manual_seed(2)
rng = np.random.default_rng(2)
train, test = DataLoader(make(320, rng), 32, shuffle=True), DataLoader(make(96, rng), 32)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(1.2))
for epoch in range(4):
    a = run(model, train, criterion, optimizer)
    b = run(model, test, criterion)
    print(epoch, {k: round(v, 3) for k, v in a.items()}, {k: round(v, 3) for k, v in b.items()})
