import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(64)


class Backbone(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.stem = nn.Conv1d(1, width, 7, stride=3)
        self.adapter = nn.Conv1d(width, width, 1)
        nn.init.zeros_(self.adapter.weight)

    def forward(self, x):
        h = F.relu(self.stem(x))
        return (h + self.adapter(h)).mean(-1)


class FeatureStore:
    def __init__(self, backbone, keep=True):
        self.backbone, self.keep, self.rows = backbone, keep, {}

    def fetch(self, index, signals):
        ready = [i for i in index.tolist() if i in self.rows]
        if len(ready) == len(index):
            return torch.stack([self.rows[i] for i in ready])
        features = self.backbone(signals)
        if self.keep:
            for i, row in zip(index.tolist(), features):
                self.rows[i] = row.detach().clone()
        return features


class CosineHead:
    def __init__(self, anchors, scale=8.0):
        self.anchors, self.scale = F.normalize(anchors, dim=1), scale

    def __call__(self, features):
        return self.scale * F.normalize(features, dim=1) @ self.anchors.t()


class Experiment:
    def __init__(self, signals, labels, anchors):
        self.signals, self.labels = signals, labels
        self.backbone = Backbone()
        self.backbone.stem.requires_grad_(False)
        self.store, self.head = FeatureStore(self.backbone, keep=False), CosineHead(anchors)
        self.optimizer = torch.optim.Adam(self.backbone.adapter.parameters(), lr=1e-2)

    def step(self, index):
        features = self.store.fetch(index, self.signals[index])
        logits = self.head(features)
        smooth = F.one_hot(self.labels[index], logits.shape[1]) * 0.9 + 0.1 / logits.shape[1]
        loss = -(smooth * logits.log_softmax(1)).sum(1).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item(), (logits.argmax(1) == self.labels[index]).sum().item()

    def epoch(self, size=16):
        total, right = 0.0, 0
        for index in torch.randperm(len(self.signals)).split(size):
            loss, hits = self.step(index)
            total, right = total + loss * len(index), right + hits
        return total / len(self.signals), right / len(self.signals)


if __name__ == "__main__":
    experiment = Experiment(torch.randn(64, 1, 90), torch.randint(0, 4, (64,)), torch.randn(4, 20))
    for number in range(3):
        loss, accuracy = experiment.epoch()
        print(f"epoch {number} loss {loss:.4f} accuracy {accuracy:.3f}")
