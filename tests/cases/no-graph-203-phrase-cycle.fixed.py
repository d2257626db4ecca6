import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH, WIDTH = 20, 6, 16


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.encoder = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.decoder = nn.Linear(WIDTH, VOCAB)

    def forward(self, ids):
        latent, _ = self.encoder(self.embed(ids))
        return self.decoder(latent).softmax(dim=-1)


class Fluency(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(VOCAB, WIDTH)
        self.judge = nn.Sequential(nn.Linear(WIDTH, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, ids):
        return self.judge((ids @ self.table.weight if ids.is_floating_point() else self.table(ids)).mean(dim=1)).squeeze(-1)


def fit_fluency(judge, rounds=15):
    opt = torch.optim.Adam(judge.parameters(), lr=0.01)
    for _ in range(rounds):
        good = torch.randint(0, VOCAB // 2, (32, LENGTH))
        bad = torch.randint(VOCAB // 2, VOCAB, (32, LENGTH))
        scores = torch.cat([judge(good), judge(bad)])
        truth = torch.cat([torch.ones(32), torch.zeros(32)])
        loss = F.binary_cross_entropy_with_logits(scores, truth)
        opt.zero_grad()
        loss.backward()
        opt.step()
    hits = ((scores > 0) == truth.bool()).float().mean().item()
    print(f"fluency judge: loss {loss.item():.3f}, hits {hits:.2f}")
    return judge.requires_grad_(False)


def fit_translator(model, judge, rounds=20):
    opt = torch.optim.Adam(model.parameters(), lr=0.005)
    for n in range(rounds):
        source = torch.randint(0, VOCAB, (32, LENGTH))
        reward = judge(model(source))
        loss = -reward.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if n % 5 == 0:
            print(n, round(reward.mean().item(), 4))


if __name__ == "__main__":
    torch.manual_seed(12)
    judge = fit_fluency(Fluency())
    fit_translator(Translator(), judge)
