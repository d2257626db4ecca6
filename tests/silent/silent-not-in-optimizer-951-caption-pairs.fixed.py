import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F


class PairLoss(nn.Module):
    def __init__(self, start=0.07):
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(1 / start).log())

    def forward(self, image, text):
        image, text = F.normalize(image, dim=-1), F.normalize(text, dim=-1)
        logits = self.log_scale.exp() * image @ text.T
        labels = torch.arange(len(image), device=image.device)
        return 0.5 * (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels))


class TwoTowers(nn.Module):
    def __init__(self, pixels=48, words=30, width=16):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(pixels, 32), nn.GELU(), nn.Linear(32, width))
        self.words = nn.EmbeddingBag(words, width)

    def forward(self, image, tokens):
        return self.image(image), self.words(tokens)


def pairs(batch):
    while True:
        tokens = torch.randint(30, (batch, 6))
        yield tokens.float().repeat(1, 8) / 30, tokens


def configure(model, criterion, lr, decay):
    params = itertools.chain(model.parameters(), criterion.parameters())
    optimizer = torch.optim.AdamW(params, lr=lr, weight_decay=decay)
    return optimizer, torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=lr, total_steps=20)


def train(model, criterion, steps=12):
    optimizer, schedule = configure(model, criterion, lr=3e-3, decay=1e-2)
    for image, tokens in itertools.islice(pairs(16), steps):
        loss = criterion(*model(image, tokens))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(21)
    towers, criterion = TwoTowers(), PairLoss()
    scale = criterion.log_scale.item()
    print(train(towers, criterion), criterion.log_scale.exp().item())
    assert criterion.log_scale.item() != scale
