import torch
from torch import nn

torch.manual_seed(71)


class AverageMeter:
    def __init__(self, name, fmt=".4f"):
        self.name, self.fmt = name, fmt
        self.reset()

    def reset(self):
        self.value = self.total = torch.zeros(())
        self.count = 0

    def update(self, value, n=1):
        self.value = value.detach()
        self.total = self.total + self.value * n
        self.count += n

    @property
    def average(self):
        return self.total / max(self.count, 1)

    def __str__(self):
        return f"{self.name} {self.value.item():{self.fmt}} ({self.average.item():{self.fmt}})"


class SpeakerNet(nn.Module):
    def __init__(self, bands=24, width=20, speakers=7):
        super().__init__()
        self.gru = nn.GRU(bands, width, batch_first=True)
        self.out = nn.Linear(width, speakers)

    def forward(self, frames):
        return self.out(self.gru(frames)[0].mean(1))


def top1(logits, speakers):
    return (logits.argmax(1) == speakers).float().mean()


def train_epoch(model, batches, criterion, optimizer, accumulate=4):
    losses, accuracy = AverageMeter("loss"), AverageMeter("top1", ".2f")
    window = AverageMeter("window")
    optimizer.zero_grad()
    for n, (frames, speakers) in enumerate(batches, 1):
        logits = model(frames)
        loss = criterion(logits, speakers)
        (loss / accumulate).backward()
        losses.update(loss, len(frames))
        accuracy.update(top1(logits, speakers), len(frames))
        if n % accumulate == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            window.reset()
    return losses, accuracy


def main(epochs=2):
    batches = [(torch.randn(8, 30, 24), torch.randint(0, 7, (8,))) for _ in range(12)]
    model = SpeakerNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(epochs):
        losses, accuracy = train_epoch(model, batches, nn.CrossEntropyLoss(), optimizer)
        print(epoch, losses, accuracy)


main()
