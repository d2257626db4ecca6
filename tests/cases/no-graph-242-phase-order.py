import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(88)


class DigitNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.fc = nn.Linear(8 * 9, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return self.fc(x.flatten(1))


def segments(count):
    label = torch.randint(0, 4, (count,))
    x = 0.3 * torch.randn(count, 1, 8, 8)
    for i, k in enumerate(label.tolist()):
        x[i, 0, :, 2 * k] += 1.0
    return x, label


def run_phase(phase, model, data, optimizer):
    model.train(phase == "train")
    x, y = data[phase]
    losses, correct = [], 0
    for idx in torch.arange(len(y)).split(20):
        logits = model(x[idx])
        torch.set_grad_enabled(phase == "train")
        loss = F.cross_entropy(logits, y[idx])
        if phase == "train":
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
        correct += logits.argmax(1).eq(y[idx]).sum().item()
    return sum(losses) / len(losses), correct / len(y)


data = {"train": segments(160), "valid": segments(40)}
model = DigitNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
history = {"train": [], "valid": []}
for epoch in range(4):
    for phase in ("train", "valid"):
        history[phase].append(run_phase(phase, model, data, optimizer))
    (tl, ta), (vl, va) = history["train"][-1], history["valid"][-1]
    print(f"epoch {epoch}: train {tl:.3f}/{ta:.2f} valid {vl:.3f}/{va:.2f}")
