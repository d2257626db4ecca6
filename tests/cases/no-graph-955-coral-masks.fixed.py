import torch
from torch import nn

CONFIG = {"beta": 2.0, "threshold": 0.5, "lr": 1e-3, "steps": 8, "batch": 6}


class FBeta(nn.Module):
    def __init__(self, beta=1.0, threshold=0.5, eps=1e-7):
        super().__init__()
        self.beta2 = beta**2
        self.threshold = threshold
        self.eps = eps

    def counts(self, mask, target):
        dims = (1, 2, 3)
        hit = (mask * target).sum(dims)
        extra = (mask * (1 - target)).sum(dims)
        missed = ((1 - mask) * target).sum(dims)
        return hit, extra, missed

    def forward(self, logits, target):
        probs = logits.sigmoid()
        mask = probs
        hit, extra, missed = self.counts(mask, target)
        weighted = (1 + self.beta2) * hit
        return (weighted / (weighted + self.beta2 * missed + extra + self.eps)).mean()


class FBetaLoss(FBeta):
    def forward(self, logits, target):
        return 1 - super().forward(logits, target)


class ReefNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down = nn.Conv2d(3, width, 3, padding=1)
        self.mid = nn.Conv2d(width, width, 3, padding=2, dilation=2)
        self.up = nn.Conv2d(2 * width, 1, 1)

    def forward(self, x):
        low = torch.relu(self.down(x))
        high = torch.relu(self.mid(low))
        return self.up(torch.cat([low, high], dim=1))


def batches(config):
    for _ in range(config["steps"]):
        images = torch.rand(config["batch"], 3, 20, 20)
        yield images, (images.mean(1, keepdim=True) > 0.55).float()


def build(config):
    model = ReefNet()
    criterion = FBetaLoss(config["beta"], config["threshold"])
    return model, criterion, torch.optim.RMSprop(model.parameters(), lr=config["lr"])


def run(config):
    model, criterion, optimizer = build(config)
    history = []
    for images, target in batches(config):
        loss = criterion(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.detach().item())
    return history


torch.manual_seed(11)
print(run(CONFIG))
