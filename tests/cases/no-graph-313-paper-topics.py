import torch
from torch import nn
import torch.nn.functional as F


class BagEncoder(nn.Module):
    def __init__(self, vocab, width, classes):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, width)
        self.out = nn.Sequential(nn.ReLU(), nn.Linear(width, classes))

    def forward(self, ids):
        return self.out(self.bag(ids))


class Distiller(nn.Module):
    def __init__(self, temperature=3.0, floor=0.12):
        super().__init__()
        self.temperature, self.floor = temperature, floor

    def forward(self, student_logits, teacher_logits):
        t = self.temperature
        soft = F.softmax(teacher_logits.detach() / t, dim=-1)
        weight = (soft.amax(-1) > self.floor).float()
        gap = F.kl_div(F.log_softmax(student_logits / t, dim=-1), soft, reduction="none").sum(-1)
        return (weight * gap).sum() / weight.sum().clamp(min=1) * t * t


def stream(vocab, classes, batches=8, size=16):
    for n in range(batches):
        ids = torch.randint(0, vocab, (size, 12))
        yield ids, (torch.randint(0, classes, (size,)) if n % 3 != 2 else None)


class Session:
    def __init__(self, teacher, student, alpha=0.7):
        self.teacher, self.student, self.alpha = teacher.eval(), student, alpha
        self.criterion, self.distill = nn.CrossEntropyLoss(), Distiller()
        self.optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)

    def losses(self, ids, labels):
        with torch.no_grad():
            teacher_out = self.teacher(ids)
        student_out = self.student(ids)
        parts = {"kd": self.alpha * self.distill(teacher_out, student_out)}
        if labels is not None:
            parts["ce"] = (1 - self.alpha) * self.criterion(student_out, labels)
        agree = (teacher_out.argmax(-1) == student_out.argmax(-1)).float().mean().item()
        return parts, agree

    def run(self, batches):
        for n, (ids, labels) in enumerate(batches):
            parts, agree = self.losses(ids, labels)
            loss = torch.stack(list(parts.values())).sum()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            shown = " ".join(f"{k} {v.item():.4f}" for k, v in parts.items())
            print(f"batch {n} {shown} agree {agree:.2f}")


if __name__ == "__main__":
    torch.manual_seed(9)
    big, small = BagEncoder(150, 64, 8), BagEncoder(150, 12, 8)
    Session(big, small).run(stream(150, 8))
