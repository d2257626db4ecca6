import torch
import torch.nn.functional as F
from torch import nn


class CentreLoss(nn.Module):
    def __init__(self, classes, dim, weight=0.1):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(classes, dim))
        self.weight = weight

    def forward(self, embedding, logits, target):
        pull = (embedding - self.centres[target]).pow(2).sum(dim=1).mean()
        return F.cross_entropy(logits, target) + self.weight * pull


class FaceNet(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 6, 3), nn.PReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(24, dim))
        self.logits = nn.Linear(dim, classes)

    def forward(self, x):
        e = self.body(x)
        return e, self.logits(e)


def build(args):
    net = FaceNet(args["dim"], args["classes"])
    criterion = CentreLoss(args["classes"], args["dim"])
    optimizer = torch.optim.Adam([*net.parameters(), *criterion.parameters()], lr=args["lr"])
    return net, criterion, optimizer


def faces(n, classes):
    target = torch.randint(0, classes, (n,))
    image = torch.randn(n, 1, 8, 8) * 0.3
    image[torch.arange(n), 0, target] += 1.0
    return image, target


def train_step(net, criterion, optimizer, batch):
    image, target = batch
    optimizer.zero_grad()
    loss = criterion(*net(image), target)
    loss.backward()
    optimizer.step()
    return loss.detach()


args = {"dim": 8, "classes": 5, "lr": 2e-3, "steps": 25}
torch.manual_seed(40)
net, criterion, optimizer = build(args)
origin = criterion.centres.detach().clone()
total = torch.zeros(())
for step in range(args["steps"]):
    total += train_step(net, criterion, optimizer, faces(16, args["classes"]))
drift = (criterion.centres.detach() - origin).abs().max().item()
print("mean loss", (total / args["steps"]).item(), "drift", drift)
assert drift > 0.0
