import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(9)


def blobs(n):
    y = torch.randint(0, 3, (n,))
    c = torch.tensor([[0.0, 2.0], [2.0, -1.0], [-2.0, -1.0]])
    return c[y] + 0.7 * torch.randn(n, 2), y


class FixMatch:
    def __init__(self, model, threshold=0.8):
        self.model, self.threshold = model, threshold
        self.used = 0.0

    def label(self, x):
        with torch.no_grad():
            probs = self.model(x).softmax(1)
        confidence, guess = probs.max(dim=1)
        mask = (confidence > self.threshold).float()
        self.used = mask.mean().item()
        return guess, mask

    def loss(self, labelled, unlabelled):
        x, y = labelled
        supervised = F.cross_entropy(self.model(x), y)
        guess, mask = self.label(unlabelled + 0.05 * torch.randn_like(unlabelled))
        strong = self.model(unlabelled + 0.4 * torch.randn_like(unlabelled))
        consistency = (F.cross_entropy(strong, guess, reduction="none") * mask).mean()
        return supervised + 0.5 * consistency, {"sup": supervised.item(), "con": float(consistency), "used": self.used}


few, (pool, truth) = blobs(12), blobs(300)
model = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 3))
method = FixMatch(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for step in range(60):
    pick = torch.randint(0, 300, (64,))
    loss, log = method.loss(few, pool[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        with torch.inference_mode():
            predictions = model(pool).argmax(1).numpy()
        hits = (predictions == truth.numpy()).mean()
        print(step, {k: round(v, 3) for k, v in log.items()}, f"hits {hits:.3f}")
