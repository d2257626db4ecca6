import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(hidden, classes=6):
    return nn.Sequential(nn.Linear(12, hidden), nn.ReLU(), nn.Linear(hidden, classes))


def soft_loss(teacher_logits, student_logits, T=3.0):
    target = F.softmax(teacher_logits.detach() / T, dim=1)
    return F.kl_div(F.log_softmax(student_logits / T, dim=1), target, reduction="batchmean") * T * T


class Compressor:
    def __init__(self, teacher, student, alpha=0.8, lr=3e-3):
        self.teacher, self.student, self.alpha = teacher, student, alpha
        for p in self.teacher.parameters():
            p.requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.student.parameters(), lr=lr)

    def losses(self, x, y):
        student_logits = self.student(x)
        teacher_logits = self.teacher(x)
        hard = F.cross_entropy(student_logits, y)
        soft = soft_loss(student_logits, teacher_logits)
        return hard, soft

    def step(self, x, y):
        hard, soft = self.losses(x, y)
        loss = (1 - self.alpha) * hard + self.alpha * soft
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return hard, soft


def fit_teacher(teacher, x, y, steps=60):
    optimizer = torch.optim.Adam(teacher.parameters(), lr=1e-2)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        optimizer.step()
    return teacher.eval()


torch.manual_seed(56)
x = torch.randn(200, 12)
y = (x @ torch.randn(12, 6)).argmax(dim=1)
compressor = Compressor(fit_teacher(mlp(64), x, y), mlp(8))
for epoch in range(30):
    hard, soft = compressor.step(x, y)
    if epoch % 10 == 0:
        print(epoch, f"hard {hard.item():.4f} soft {soft.item():.4f}")
