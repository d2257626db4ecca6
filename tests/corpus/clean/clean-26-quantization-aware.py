import torch
import torch.nn as nn
import torch.nn.functional as F


def fake_quantize(x, scale, bits=8):
    top = 2 ** (bits - 1) - 1
    steps = x / scale
    rounded = steps + (steps.round() - steps).detach()
    return rounded.clamp(-top - 1, top) * scale


class Observer(nn.Module):
    def __init__(self, momentum=0.1, bits=8):
        super().__init__()
        self.momentum, self.bits = momentum, bits
        self.register_buffer("largest", torch.tensor(1.0))
        self.frozen = False

    def forward(self, x):
        if self.training and not self.frozen:
            with torch.no_grad():
                self.largest.lerp_(x.abs().max(), self.momentum)
        return fake_quantize(x, self.largest / (2 ** (self.bits - 1) - 1), self.bits)


class QLinear(nn.Linear):
    def __init__(self, *args, bits=4, **kwargs):
        super().__init__(*args, **kwargs)
        self.bits = bits
        self.log_scale = nn.Parameter(torch.tensor(-3.0))
        self.observe = Observer()

    def forward(self, x):
        weight = fake_quantize(self.weight, self.log_scale.exp(), self.bits)
        return F.linear(self.observe(x), weight, self.bias)

    @torch.no_grad()
    def integers(self):
        return (self.weight / self.log_scale.exp()).round().clamp(-8, 7).to(torch.int8)


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = QLinear(10, 24), QLinear(24, 3)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x), inplace=True))


def train(model, loader, epochs, lr):
    weights = [p for name, p in model.named_parameters() if not name.endswith("log_scale")]
    scales = [p for name, p in model.named_parameters() if name.endswith("log_scale")]
    optimizer = torch.optim.SGD([{"params": weights}, {"params": scales, "lr": lr / 10}], lr=lr, momentum=0.9)
    for epoch in range(epochs):
        model.train()
        if epoch == epochs - 1:
            for module in model.modules():
                if isinstance(module, Observer):
                    module.frozen = True
        right = seen = 0
        for x, y in loader:
            logits = model(x)
            loss = F.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right += (logits.detach().argmax(1) == y).sum().item()
            seen += len(y)
        print(epoch, loss.item(), right / seen)


if __name__ == "__main__":
    torch.manual_seed(14)
    x = torch.randn(90, 10)
    y = x[:, :3].argmax(dim=1)
    model = QNet()
    train(model, list(zip(x.split(15), y.split(15))), epochs=3, lr=0.05)
    model.eval()
    print(model.fc1.integers().unique().tolist())
