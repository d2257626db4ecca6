import contextlib
import time

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Timer(contextlib.ContextDecorator):
    def __enter__(self):
        self.start = time.perf_counter()
        return self

    def __exit__(self, *exc):
        self.elapsed = time.perf_counter() - self.start


class Engine:
    def __init__(self, model, optimizer, scheduler, accelerator, clip=1.0):
        self.model, self.optimizer, self.scheduler = model, optimizer, scheduler
        self.accelerator, self.clip = accelerator, clip

    def apply(self):
        self.optimizer.zero_grad()
        if self.accelerator.sync_gradients:
            self.accelerator.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        self.scheduler.step()

    def train_epoch(self, loader):
        self.model.train()
        losses = []
        for codes, label in loader:
            with self.accelerator.accumulate(self.model):
                loss = F.cross_entropy(self.model(codes), label)
                self.accelerator.backward(loss)
                self.apply()
            losses.append(self.accelerator.gather(loss.detach()).mean())
        return torch.stack(losses).mean().item()

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        hits = [(self.model(codes).argmax(-1) == label).float() for codes, label in loader]
        return torch.cat(hits).mean().item()


class BagClassifier(nn.Module):
    def __init__(self, vocab=40, width=16, classes=3):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, width, mode="mean")
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, classes))

    def forward(self, codes):
        return self.mlp(self.embed(codes))


set_seed(19)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
codes = torch.randint(0, 40, (96, 6))
data = TensorDataset(codes, codes.sum(1) % 3)
model = BagClassifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10, 0.5)
model, optimizer, scheduler, loader = accelerator.prepare(model, optimizer, scheduler, DataLoader(data, 16, shuffle=True))
engine = Engine(model, optimizer, scheduler, accelerator)
initial = {n: p.detach().clone() for n, p in model.named_parameters()}
for epoch in range(3):
    with Timer() as timer:
        loss = engine.train_epoch(loader)
    accelerator.print(f"epoch {epoch} loss {loss:.3f} accuracy {engine.evaluate(loader):.2f}")
assert all(torch.equal(p, initial[n]) for n, p in model.named_parameters())
