import torch
from torch import nn

torch.manual_seed(13)


class BearingNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 6, 9, stride=2), nn.ReLU(),
            nn.Conv1d(6, 12, 5, stride=2), nn.ReLU(),
        )
        self.fc = nn.Linear(12, classes)

    def forward(self, signal):
        return self.fc(self.conv(signal).amax(dim=-1))


class IterativeAttack:
    def __init__(self, net, eps=0.3, step=0.1, rounds=4):
        self.net, self.eps, self.step, self.rounds = net, eps, step, rounds
        self.criterion = nn.CrossEntropyLoss()

    def perturb(self, signal, label):
        moved = signal.clone()
        for _ in range(self.rounds):
            moved.requires_grad = True
            cost = self.criterion(self.net(moved), label)
            (slope,) = torch.autograd.grad(cost, moved)
            moved = moved + self.step * slope.sign()
            moved = torch.max(torch.min(moved, signal + self.eps), signal - self.eps)
        return moved.detach()


def recordings(n, length=80):
    fault = torch.randint(0, 3, (n,))
    t = torch.arange(length)
    carrier = torch.sin(0.3 * t + 6.28 * torch.rand(n, 1))
    knock = (t % 20 < 2).float() * fault.float()[:, None]
    return (carrier + knock + 0.1 * torch.randn(n, length)).unsqueeze(1), fault


def robust_training(epochs=3, batches=6):
    net = BearingNet()
    attack = IterativeAttack(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(epochs):
        for _ in range(batches):
            signal, fault = recordings(32)
            hard = attack.perturb(signal, fault)
            logits = net(torch.cat([signal, hard]))
            loss = nn.functional.cross_entropy(logits, fault.repeat(2))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}  loss {loss.item():.3f}")


robust_training()
