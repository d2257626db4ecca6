import torch
from torch import nn

torch.manual_seed(29)


class Counter(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.conv = nn.Conv2d(1, channels, 3, padding=1)
        self.head = nn.Linear(channels, 1)

    def forward(self, frames):
        return self.head(torch.relu(self.conv(frames)).sum(dim=(2, 3)) / 10).squeeze(1)


def frames(count, size=14):
    number = torch.randint(0, 6, (count,))
    pictures = 0.1 * torch.randn(count, 1, size, size)
    for i, n in enumerate(number.tolist()):
        for _ in range(n):
            r, c = torch.randint(0, size - 2, (2,)).tolist()
            pictures[i, 0, r:r + 2, c:c + 2] += 1.0
    return pictures, number.float()


def plain(data, size):
    yield from zip(data[0].split(size), data[1].split(size))


def augmented(data, size):
    pictures, number = data
    order = torch.randperm(len(number))
    for idx in order.split(size):
        with torch.no_grad():
            x = pictures[idx].clone()
            flip = torch.rand(len(idx)) < 0.5
            x[flip] = x[flip].flip(-1)
            x += 0.05 * torch.randn_like(x)
        yield x, number[idx]


def train(model, make_batches, data, optimizer, size=16):
    losses = []
    for x, y in make_batches(data, size):
        optimizer.zero_grad()
        loss = nn.functional.l1_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).mean().item()


if __name__ == "__main__":
    data = frames(128)
    model = Counter()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(6):
        batches = plain if epoch < 2 else augmented
        print(f"epoch {epoch} ({batches.__name__}): {train(model, batches, data, optimizer):.4f}")
