import torch
from torch import nn


class Engine:
    """Runs steps; subclasses override the hooks."""

    def __init__(self, model, opt):
        self.model, self.opt, self.iteration = model, opt, 0

    def before_step(self):
        self.opt.zero_grad()

    def after_step(self, loss):
        self.iteration += 1

    def compute_loss(self, batch):
        raise NotImplementedError

    def step(self, batch):
        self.before_step()
        loss = self.compute_loss(batch)
        loss.backward()
        self.opt.step()
        self.after_step(loss.detach())

    def fit(self, batches):
        for batch in batches:
            self.step(batch)
        return self


class SequenceTagger(Engine):
    def __init__(self, *args, clip=None):
        super().__init__(*args)
        self.lrs, self.losses = [], []
        self.warm = torch.optim.lr_scheduler.LinearLR(self.opt, 0.2, total_iters=6)

    def before_step(self):
        super().before_step()
        self.lrs.append(self.opt.param_groups[0]["lr"])

    def after_step(self, loss):
        super().after_step(loss)
        self.warm.step()
        self.losses.append(loss)

    def compute_loss(self, batch):
        tokens, tags = batch
        return nn.functional.cross_entropy(self.model(tokens).flatten(0, 1), tags.flatten())


class Tagger(nn.Module):
    def __init__(self, vocab=20, dim=12, tags=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, tags)

    def forward(self, tokens):
        return self.out(self.lstm(self.embed(tokens))[0])


def sentences(n):
    for _ in range(n):
        tokens = torch.randint(0, 20, (8, 10))
        yield tokens, tokens % 4


torch.manual_seed(70)
model = Tagger()
tagger = SequenceTagger(model, torch.optim.SGD(model.parameters(), lr=0.1)).fit(sentences(12))
print("lr", tagger.lrs[-1], "loss", torch.stack(tagger.losses).mean().item())
tagger.step(next(sentences(1)))
alone = model.out.bias.grad.clone()
tagger.opt.zero_grad()
tagger.compute_loss(next(sentences(1))).backward()
carried = alone.norm() > 2 * model.out.bias.grad.norm()
assert not carried
