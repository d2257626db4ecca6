import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(53)


class Aligner(nn.Module):
    def __init__(self, audio=14, vocab=40, dim=16):
        super().__init__()
        self.audio = nn.Sequential(nn.Linear(audio, 32), nn.ReLU(), nn.Linear(32, dim))
        self.words = nn.EmbeddingBag(vocab, dim)
        self.text = nn.Linear(dim, dim)
        self.temperature = 0.2

    def encode_text(self, ids):
        vectors = self.text(self.words(ids))
        return F.normalize(vectors, dim=1)

    def encode_audio(self, x):
        return F.normalize(self.audio(x), dim=1)

    def forward(self, x, ids):
        return self.encode_audio(x) @ self.encode_text(ids).t() / self.temperature


def symmetric(logits):
    target = torch.arange(len(logits))
    return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))


sounds = torch.randn(40, 14)


def pairs(n=32):
    ids = torch.randint(0, 40, (n, 3))
    return sounds[ids].mean(1) + 0.1 * torch.randn(n, 14), ids


aligner = Aligner()
optimizer = torch.optim.Adam(aligner.parameters(), lr=3e-3)
for step in range(60):
    x, ids = pairs()
    loss = symmetric(aligner(x, ids))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
