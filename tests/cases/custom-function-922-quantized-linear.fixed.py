import torch
import torch.nn as nn
from torch.autograd import Function


class LearnedStep(Function):
    @staticmethod
    def forward(ctx, x, scale, bits):
        low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        ratio = x / scale
        ctx.save_for_backward(ratio, scale)
        ctx.low, ctx.high = low, high
        return ratio.round().clamp(low, high) * scale

    @staticmethod
    def backward(ctx, grad):
        ratio, scale = ctx.saved_tensors
        inside = (ratio >= ctx.low) & (ratio <= ctx.high)
        grad_x = grad * inside
        step = torch.where(inside, ratio.round() - ratio, ratio.clamp(ctx.low, ctx.high))
        grad_scale = (grad * step).sum().view_as(scale)
        return grad_x, grad_scale, None


class Quantizer(nn.Module):
    def __init__(self, bits, init=0.1):
        super().__init__()
        self.bits = bits
        self.scale = nn.Parameter(torch.tensor(init))

    def forward(self, x):
        return LearnedStep.apply(x, self.scale, self.bits)


class QLinear(nn.Linear):
    def __init__(self, cin, cout, bits=4):
        super().__init__(cin, cout)
        self.weight_quant, self.act_quant = Quantizer(bits), Quantizer(bits)

    def forward(self, x):
        return nn.functional.linear(self.act_quant(x), self.weight_quant(self.weight), self.bias)


def swap_linears(module, bits):
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            new = QLinear(child.in_features, child.out_features, bits)
            new.load_state_dict(child.state_dict(), strict=False)
            setattr(module, name, new)
        else:
            swap_linears(child, bits)
    return module


def parameter_groups(model, lr):
    steps = [p for n, p in model.named_parameters() if n.endswith("scale")]
    rest = [p for n, p in model.named_parameters() if not n.endswith("scale")]
    return [{"params": rest, "lr": lr}, {"params": steps, "lr": lr / 10, "weight_decay": 0.0}]


def distill(teacher, student, steps):
    optimizer = torch.optim.SGD(parameter_groups(student, 0.05), momentum=0.9, weight_decay=1e-4)
    for _ in range(steps):
        x = torch.randn(16, 6)
        with torch.no_grad():
            wanted = teacher(x).softmax(-1)
        loss = nn.functional.kl_div(student(x).log_softmax(-1), wanted, reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
build = lambda: nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Sequential(nn.Linear(12, 12), nn.ReLU()), nn.Linear(12, 4))
teacher = build().eval()
student = build()
student.load_state_dict(teacher.state_dict())
print(f"{distill(teacher, swap_linears(student, bits=4), steps=4):.5f}")
