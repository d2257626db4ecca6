import torch
import torch.nn.functional as F
from torch import nn


class ConvNet(nn.Module):
    def __init__(self, width, classes=5):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2))
        self.block2 = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        first = self.block1(x)
        second = self.block2(first)
        return self.fc(second.mean(dim=(2, 3))), (first, second)


def attention(features):
    maps = features.pow(2).mean(dim=1).flatten(1)
    return F.normalize(maps, dim=1)


def transfer(student_maps, teacher_maps):
    total = 0
    for s, t in zip(student_maps, teacher_maps):
        s, t = s.data, t.data
        total = total + (attention(s) - attention(t)).square().mean()
    return total


def softened(student, teacher, heat=4.0):
    target = F.softmax(teacher / heat, dim=1)
    return F.kl_div(F.log_softmax(student / heat, dim=1), target, reduction="batchmean") * heat**2


def distill(student, teacher, images, labels, optimizer, weight=1000.0):
    with torch.no_grad():
        t_logits, t_maps = teacher(images)
    s_logits, s_maps = student(images)
    kept = {
        "label": F.cross_entropy(s_logits, labels),
        "soft": softened(s_logits, t_logits),
        "maps": weight * transfer(s_maps, t_maps),
    }
    loss = sum(kept.values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return kept


torch.manual_seed(23)
teacher, student = ConvNet(16).eval(), ConvNet(6)
teacher.requires_grad_(False)
optimizer = torch.optim.SGD(student.parameters(), lr=0.01)
for step in range(3):
    parts = distill(student, teacher, torch.randn(8, 3, 16, 16), torch.randint(5, (8,)), optimizer)
    print(step, {name: round(value.item(), 4) for name, value in parts.items()})
assert not parts["maps"].requires_grad
