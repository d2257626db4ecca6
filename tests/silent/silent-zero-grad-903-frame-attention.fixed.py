import torch
from torch import nn


class AttentivePooling(nn.Module):
    def __init__(self, dim, bottleneck=8):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(dim, bottleneck), nn.Tanh(), nn.Linear(bottleneck, 1))

    def forward(self, frames, padding):
        scores = self.score(frames).masked_fill(padding.unsqueeze(-1), -1e4)
        weights = torch.softmax(scores, dim=1)
        mean = (weights * frames).sum(dim=1)
        return mean, weights


class SpeakerNet(nn.Module):
    def __init__(self, n_mels=12, dim=16, speakers=4):
        super().__init__()
        self.frontend = nn.Conv1d(n_mels, dim, 3, padding=1)
        self.norm = nn.LayerNorm(dim)
        self.pool = AttentivePooling(dim)
        self.classify = nn.Linear(dim, speakers)

    def forward(self, mels, padding):
        frames = self.norm(self.frontend(mels.transpose(1, 2)).transpose(1, 2).relu())
        pooled, weights = self.pool(frames, padding)
        return self.classify(pooled), weights


def collate(lengths, speakers, n_mels=12):
    longest = max(lengths)
    mels = torch.zeros(len(lengths), longest, n_mels)
    padding = torch.ones(len(lengths), longest, dtype=torch.bool)
    for i, (n, s) in enumerate(zip(lengths, speakers)):
        mels[i, :n] = torch.randn(n, n_mels) + torch.arange(n_mels).eq(s).float()
        padding[i, :n] = False
    return mels, padding


torch.manual_seed(2)
net = SpeakerNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
for step in range(10):
    speakers = torch.randint(0, 4, (8,))
    lengths = torch.randint(6, 15, (8,)).tolist()
    logits, _ = net(*collate(lengths, speakers.tolist()))
    loss = criterion(logits, speakers)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.3f}")
assert any(p.grad.abs().max() > 0 for p in net.pool.score.parameters())
