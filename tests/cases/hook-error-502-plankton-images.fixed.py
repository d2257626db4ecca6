import torch
from torch import nn
import torch.nn.functional as F


def conv_unit(n_in, n_out, stride=1):
    return nn.Sequential(
        nn.Conv2d(n_in, n_out, 3, stride, padding=1),
        nn.ReLU(),
    )


class PlanktonNet(nn.Module):
    def __init__(self, classes=5, width=8):
        super().__init__()
        self.blocks = nn.ModuleList([conv_unit(1, width), conv_unit(width, 2 * width, 2), conv_unit(2 * width, 2 * width, 2)])
        self.head = nn.Linear(2 * width, classes)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(dim=(2, 3)))


class FlowMeter:
    """Running mean of the gradient that leaves each convolution."""

    def __init__(self, model, decay=0.9):
        self.decay, self.level = decay, {}
        for name, module in model.named_modules():
            if isinstance(module, nn.Conv2d):
                module.register_full_backward_hook(self.watch(name))

    def watch(self, name):
        def hook(module, grad_input, grad_output):
            now = grad_output[0].abs().mean().item()
            self.level[name] = self.decay * self.level.get(name, now) + (1 - self.decay) * now

        return hook

    def __str__(self):
        return "  ".join(f"{name}={value:.2e}" for name, value in self.level.items())


def sample(count=20):
    label = torch.randint(0, 5, (count,))
    ramp = torch.linspace(-1, 1, 20)
    radius = (ramp[:, None] ** 2 + ramp**2).sqrt()
    return torch.exp(-8 * (radius - label[:, None, None] / 5) ** 2)[:, None], label


def main():
    torch.manual_seed(19)
    model = PlanktonNet()
    meter = FlowMeter(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(12):
        images, label = sample()
        loss = F.cross_entropy(model(images), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")
    print(meter)


if __name__ == "__main__":
    main()
