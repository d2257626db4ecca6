import copy

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(31)


class Segmenter(nn.Module):
    def __init__(self, width=10, classes=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1))
        self.dec = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        return self.dec(F.relu(self.enc(x)))


class ModelEMA:
    def __init__(self, model, decay=0.99):
        self.module = copy.deepcopy(model).eval()
        self.decay = decay
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for kept, new in zip(self.module.state_dict().values(), model.state_dict().values()):
            kept.mul_(self.decay).add_(new.detach(), alpha=1 - self.decay)


class MeanTeacher:
    def __init__(self, student, warmup=3, weight=0.5):
        self.student, self.ema = student, ModelEMA(student)
        self.warmup, self.weight = warmup, weight
        self.optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)

    def supervised(self, images, labels):
        return F.cross_entropy(self.student(images), labels)

    def consistency(self, images):
        with torch.no_grad():
            target = self.ema.module(images).softmax(1)
            sure = target.amax(1) > 0.26
        noisy = images + 0.1 * torch.randn_like(images)
        prediction = self.student(noisy).log_softmax(1)
        gap = F.kl_div(prediction, target, reduction="none").sum(1)
        return (gap * sure).sum() / sure.sum().clamp(min=1)

    def step(self, number, labelled, unlabelled):
        losses = []
        if labelled is not None:
            losses.append(self.supervised(*labelled))
        if number >= self.warmup:
            losses.append(self.weight * self.consistency(unlabelled))
        loss = sum(losses)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.ema.update(self.student)
        return loss.item()


def main(steps=12):
    trainer = MeanTeacher(Segmenter())
    for number in range(steps):
        unlabelled = torch.rand(6, 3, 16, 16)
        labelled = None
        if number % 4 != 3 or number < 4:
            labelled = torch.rand(2, 3, 16, 16), torch.randint(0, 4, (2, 16, 16))
        print(f"step {number:2d} loss {trainer.step(number, labelled, unlabelled):.4f}")


main()
