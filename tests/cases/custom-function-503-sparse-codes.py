import torch
import torch.nn as nn


class Shrink(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values, threshold):
        keep = values.abs() > threshold
        ctx.save_for_backward(keep, values.sign())
        return (values - threshold * values.sign()) * keep

    @staticmethod
    def backward(ctx, grad_output):
        keep, sign = ctx.saved_tensors
        grad_values = grad_output * keep
        grad_threshold = -(grad_values * sign).sum()
        return grad_values, grad_threshold


shrink = Shrink.apply


class UnrolledCoder(nn.Module):
    def __init__(self, signal=30, atoms=50, rounds=3, threshold=0.05):
        super().__init__()
        self.dictionary = nn.Parameter(torch.randn(signal, atoms) / signal**0.5)
        self.analysis = nn.Linear(signal, atoms, bias=False)
        self.mixing = nn.Linear(atoms, atoms, bias=False)
        self.rounds, self.threshold = rounds, threshold

    def encode(self, x):
        drive = self.analysis(x)
        code = shrink(drive, self.threshold)
        for _ in range(self.rounds - 1):
            code = shrink(drive + self.mixing(code), self.threshold)
        return code

    def forward(self, x):
        code = self.encode(x)
        return code @ self.dictionary.T, code


def pulses(count, signal=30):
    centre = torch.rand(count, 1) * signal
    return torch.exp(-0.5 * ((torch.arange(signal) - centre) / 2) ** 2)


def main():
    torch.manual_seed(31)
    coder = UnrolledCoder()
    optimizer = torch.optim.Adam(coder.parameters(), lr=2e-3)
    for step in range(40):
        batch = pulses(32)
        rebuilt, code = coder(batch)
        loss = (rebuilt - batch).pow(2).mean() + 1e-3 * code.abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            used = (code != 0).float().mean().item()
            print(f"step {step:2d} loss {loss.item():.5f} active {used:.2f}")


main()
