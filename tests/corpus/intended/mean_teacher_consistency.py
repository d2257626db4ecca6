import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)
student = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.detach_()
optimizer = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)


def update_teacher(step, alpha=0.99):
    alpha = min(1 - 1 / (step + 1), alpha)
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.data.mul_(alpha).add_(s.data, alpha=1 - alpha)


for step in range(50):
    labelled = torch.randn(8, 6)
    y = labelled[:, :3].argmax(dim=1)
    unlabelled = torch.randn(32, 6)
    with torch.no_grad():
        guide = teacher(unlabelled + 0.05 * torch.randn_like(unlabelled)).softmax(dim=1)
    supervised = F.cross_entropy(student(labelled), y)
    consistency = F.mse_loss(student(unlabelled).softmax(dim=1), guide)
    weight = min(1.0, step / 20)
    loss = supervised + weight * consistency
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    update_teacher(step)
print(supervised.item(), consistency.item())
