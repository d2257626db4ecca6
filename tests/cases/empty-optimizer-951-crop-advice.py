from functools import partial

import torch
import torch.nn as nn

FEATURES = {"soil": 6, "weather": 9, "market": 3}
CROPS = ["barley", "oats", "rye"]


class Advisor(nn.Module):
    def __init__(self, features, classes, width=12):
        super().__init__()
        self.width = width
        self.blocks = self.make_blocks(features, classes)

    def make_blocks(self, features, classes):
        blocks = {name: nn.Sequential(nn.Linear(size, self.width), nn.ReLU()) for name, size in features.items()}
        blocks["head"] = nn.Linear(self.width * len(features), classes)
        return blocks

    def forward(self, inputs):
        parts = [self.blocks[name](values) for name, values in sorted(inputs.items())]
        return self.blocks["head"](torch.cat(parts, dim=-1))


def make_batch(size, generator):
    inputs = {name: torch.randn(size, width, generator=generator) for name, width in FEATURES.items()}
    return inputs, torch.randint(len(CROPS), (size,), generator=generator)


OPTIMIZERS = {
    "sgd": partial(torch.optim.SGD, lr=0.1, nesterov=True, momentum=0.9),
    "adam": partial(torch.optim.Adam, lr=1e-3),
}


def fit(model, steps, optimizer="adam"):
    generator = torch.Generator().manual_seed(1)
    optimizer = OPTIMIZERS[optimizer](model.parameters())
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=5)
    for step in range(steps):
        inputs, crop = make_batch(16, generator)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), crop)
        loss.backward()
        optimizer.step()
        warmup.step()
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(1)
    print(fit(Advisor(FEATURES, len(CROPS)), steps=5))
