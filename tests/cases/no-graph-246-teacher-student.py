import copy

import torch
from torch import nn
import torch.nn.functional as F


def set_grad(model, flag):
    model.requires_grad_(flag)
    return model


class Distiller:
    def __init__(self, teacher, temperature=2.0, lr=0.01):
        self.teacher = set_grad(teacher, False).eval()
        self.student = self.shrink(self.teacher)
        self.temperature = temperature
        self.optimizer = torch.optim.Adam(self.student.parameters(), lr=lr)

    def shrink(self, model):
        student = copy.deepcopy(model)
        for module in student.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
        return student.train()

    def step(self, x):
        with torch.no_grad():
            soft = F.softmax(self.teacher(x) / self.temperature, dim=1)
        logits = self.student(x)
        loss = F.kl_div(F.log_softmax(logits / self.temperature, dim=1), soft, reduction="batchmean")
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        agree = logits.detach().argmax(1).eq(soft.argmax(1)).float().mean().item()
        return loss.item(), agree


def train_teacher(x, y, steps=60):
    teacher = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 3))
    optimizer = torch.optim.Adam(teacher.parameters(), lr=0.02)
    for _ in range(steps):
        loss = F.cross_entropy(teacher(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("teacher", round(loss.item(), 4))
    return teacher


def main():
    torch.manual_seed(39)
    x = torch.randn(256, 8)
    y = (x[:, 0] > 0).long() + (x[:, 1] + x[:, 2] > 0).long()
    distiller = Distiller(train_teacher(x, y))
    for n in range(40):
        loss, agree = distiller.step(torch.randn(64, 8))
        if n % 10 == 0:
            print(f"{n:2d} {loss:.4f} agree {agree:.2f}")


main()
