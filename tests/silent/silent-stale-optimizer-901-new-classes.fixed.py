import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU())
        self.classifier = nn.Linear(24, classes)

    def forward(self, x):
        return self.classifier(self.features(x))


class IncrementalLearner:
    def __init__(self, classes, lr=0.05):
        self.net = Net(classes)
        self.lr = lr
        self.optimizer = self.make_optimizer()
        self.seen = classes

    def make_optimizer(self):
        return torch.optim.SGD(self.net.parameters(), lr=self.lr, momentum=0.9)

    def add_classes(self, n):
        old = self.net.classifier
        grown = nn.Linear(old.in_features, old.out_features + n)
        with torch.no_grad():
            grown.weight[: old.out_features] = old.weight
            grown.bias[: old.out_features] = old.bias
        self.net.classifier = grown
        self.optimizer = self.make_optimizer()
        self.seen += n

    def learn(self, task, epochs=6):
        for _ in range(epochs):
            for x, y in task:
                self.optimizer.zero_grad()
                loss = F.cross_entropy(self.net(x), y)
                loss.backward()
                self.optimizer.step()
        return loss.item()


def task(classes, centres, n=4):
    out = []
    for _ in range(n):
        y = torch.tensor(classes)[torch.randint(0, len(classes), (20,))]
        out.append((centres[y] + 0.3 * torch.randn(20, 10), y))
    return out


torch.manual_seed(17)
centres = torch.randn(6, 10)
learner = IncrementalLearner(4)
print("task 1", learner.learn(task([0, 1, 2, 3], centres)))
learner.add_classes(2)
fresh = learner.net.classifier.weight[4:].detach().clone()
print("task 2", learner.learn(task([2, 3, 4, 5], centres)))
assert not learner.net.classifier.weight[4:].equal(fresh)
