import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

VOCAB = 18


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.token = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.Tanh())
        self.drop = nn.Dropout(0.1)

    def forward(self, h):
        past = h.cumsum(1) / torch.arange(1, h.shape[1] + 1)[:, None]
        return h + self.drop(self.token(past))


class Writer(nn.Module):
    def __init__(self, width=24, depth=3):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(depth))
        self.out = nn.Linear(width, VOCAB)

    def forward(self, ids):
        h = self.embed(ids)
        for layer in self.layers:
            h = checkpoint(layer, h, use_reentrant=False) if torch.is_grad_enabled() else layer(h)
        return self.out(h)

    @torch.no_grad()
    def write(self, count, length=8):
        self.eval()
        ids = torch.zeros(count, 1, dtype=torch.long)
        for _ in range(length):
            choice = torch.multinomial(self(ids)[:, -1].softmax(-1), 1)
            ids = torch.cat([ids, choice], dim=1)
        self.train()
        return ids


def reward(ids):
    return (ids[:, 1:] % 2 == torch.arange(ids.shape[1] - 1) % 2).float().mean(1)


def policy_loss(model, ids):
    log_probs = F.log_softmax(model(ids[:, :-1]), dim=-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    advantage = reward(ids) - reward(model.write(len(ids))).mean()
    return -(advantage * log_probs.sum(1)).mean()


def train(rounds=6):
    model = Writer()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for r in range(rounds):
        ids = model.write(24)
        model.train()
        loss = policy_loss(model, ids)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"round {r}  reward {reward(ids).mean().item():.3f}")


torch.manual_seed(1)
train()
