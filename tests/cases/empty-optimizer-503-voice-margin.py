import torch
from torch import nn


class Embedder(nn.Module):
    def __init__(self, n_mels=24, dim=12):
        super().__init__()
        self.rnn = nn.GRU(n_mels, 32, batch_first=True)
        self.project = nn.Linear(32, dim)

    def forward(self, mels):
        frames, _ = self.rnn(mels)
        return self.project(frames.mean(dim=1))


class CompactLoss(nn.Module):
    def __init__(self, speakers, dim, weight=0.05):
        super().__init__()
        self.weight = weight
        self.classify = nn.CrossEntropyLoss()
        self.centers = torch.randn(speakers, dim, requires_grad=True)

    def forward(self, embedding, speaker):
        logits = -torch.cdist(embedding, self.centers)
        pull = (embedding - self.centers[speaker]).pow(2).sum(dim=1).mean()
        return self.classify(logits, speaker) + self.weight * pull


class VoiceData(torch.utils.data.Dataset):
    def __init__(self, speakers=6, per_speaker=12):
        timbre = torch.randn(speakers, 1, 24)
        self.labels = torch.arange(speakers).repeat_interleave(per_speaker)
        self.mels = timbre[self.labels] + 0.5 * torch.randn(len(self.labels), 15, 24)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.mels[index], self.labels[index]


def train(epochs=3):
    loader = torch.utils.data.DataLoader(VoiceData(), batch_size=18, shuffle=True)
    model, criterion = Embedder(), CompactLoss(speakers=6, dim=12)
    optimizers = [
        torch.optim.Adam(model.parameters(), lr=5e-3),
        torch.optim.SGD(criterion.parameters(), lr=0.5),
    ]
    for epoch in range(epochs):
        for mels, speaker in loader:
            loss = criterion(model(mels), speaker)
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
        print(f"epoch {epoch + 1}: {loss.item():.3f}")


if __name__ == "__main__":
    torch.manual_seed(11)
    train()
