import copy
import json
import logging
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F

logger = logging.getLogger(__name__)


class Hooked:
    """Keeps what the named layers give in the last forward pass."""

    def __init__(self, model, names):
        self.kept = OrderedDict()
        modules = dict(model.named_modules())
        self.handles = [modules[name].register_forward_hook(self.keep(name)) for name in names]

    def keep(self, name):
        def hook(module, inputs, output):
            self.kept[name] = output

        return hook

    def close(self):
        for handle in self.handles:
            handle.remove()


def make(width):
    return nn.Sequential(
        OrderedDict(
            enter=nn.Linear(20, width),
            act=nn.ReLU(),
            mid=nn.Linear(width, width),
            act2=nn.ReLU(),
            out=nn.Linear(width, 6),
        )
    )


class Distiller(nn.Module):
    def __init__(self, teacher, student, heat=3.0, alpha=0.5):
        super().__init__()
        self.teacher, self.student = teacher, student
        self.heat, self.alpha = heat, alpha
        self.adapt = nn.Linear(student.mid.out_features, teacher.mid.out_features)
        self.from_teacher = Hooked(teacher, ["mid"])
        self.from_student = Hooked(student, ["mid"])
        for p in self.teacher.parameters():
            p.requires_grad = False

    def train(self, mode=True):
        super().train(mode)
        self.teacher.eval()
        return self

    def forward(self, x, y):
        with torch.no_grad():
            wanted = self.teacher(x)
        given = self.student(x)
        hard = F.cross_entropy(given, y)
        soft = F.kl_div(
            F.log_softmax(given / self.heat, dim=-1), F.log_softmax(wanted / self.heat, dim=-1),
            reduction="batchmean", log_target=True,
        ) * self.heat**2
        hint = F.mse_loss(self.adapt(self.from_student.kept["mid"]), self.from_teacher.kept["mid"])
        return self.alpha * hard + (1 - self.alpha) * soft + 0.1 * hint, {"hard": hard.item(), "soft": soft.item()}


def main():
    torch.manual_seed(4)
    teacher = make(64)
    distiller = Distiller(copy.deepcopy(teacher), make(16))
    trained = [p for p in distiller.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.05, momentum=0.9, weight_decay=1e-4)
    stop = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[4, 6], gamma=0.1)
    x = torch.randn(64, 20)
    y = teacher(x).argmax(1)
    distiller.train()
    lines = []
    for step in range(8):
        picked = torch.randperm(64)[:32]
        loss, parts = distiller(x[picked], y[picked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        stop.step()
        lines.append(json.dumps({"step": step, "loss": float(loss), **parts}))
        logger.info(lines[-1])
    distiller.from_teacher.close()
    distiller.from_student.close()
    print("\n".join(lines))


if __name__ == "__main__":
    main()
