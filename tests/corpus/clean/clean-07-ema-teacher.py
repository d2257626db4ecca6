import copy

import torch
from torch import nn
import torch.nn.functional as F


class MeanTeacher:
    def __init__(self, student, decay=0.95):
        self.student = student
        self.teacher = copy.deepcopy(student)
        for p in self.teacher.parameters():
            p.requires_grad = False
        self.decay = decay

    @torch.no_grad()
    def update(self):
        for t, s in zip(self.teacher.parameters(), self.student.parameters()):
            t.mul_(self.decay).add_(s.data, alpha=1 - self.decay)

    def loss(self, x, y, free):
        supervised = F.cross_entropy(self.student(x), y)
        with torch.no_grad():
            soft = self.teacher(free + 0.1 * torch.randn_like(free)).softmax(1)
        agree = F.mse_loss(self.student(free + 0.1 * torch.randn_like(free)).softmax(1), soft)
        return supervised, agree


def rings(n):
    y = torch.randint(0, 2, (n,))
    a = torch.rand(n) * 6.28
    r = 1 + y + 0.15 * torch.randn(n)
    return torch.stack([r * a.cos(), r * a.sin()], dim=1), y


@torch.inference_mode()
def accuracy(model, x, y):
    return model(x).argmax(1).eq(y).float().mean().item()


def main():
    torch.manual_seed(11)
    labelled, free, test = rings(40), rings(400), rings(200)
    pair = MeanTeacher(nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2)))
    optimizer = torch.optim.Adam(pair.student.parameters(), lr=0.01)
    totals = []
    for step in range(80):
        pick = torch.randint(0, 400, (64,))
        supervised, agree = pair.loss(*labelled, free[0][pick])
        loss = supervised + min(1.0, step / 40) * agree
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        pair.update()
        totals.append(loss.item())
        if step % 20 == 19:
            mean = torch.tensor(totals[-20:]).mean()
            print(step, f"{mean:.4f}", accuracy(pair.student, *test), accuracy(pair.teacher, *test))


main()
