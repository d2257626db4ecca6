import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(414)


class Bottleneck(nn.Module):
    def __init__(self, width, rank):
        super().__init__()
        self.shrink = nn.Linear(width, rank)
        self.grow = nn.Linear(rank, width)
        nn.init.zeros_(self.grow.weight)

    def forward(self, x):
        return x + self.grow(F.gelu(self.shrink(x)))


class Layer(nn.Module):
    def __init__(self, width, rank=4):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.bottleneck = Bottleneck(width, rank)

    def forward(self, x):
        mixed, _ = self.attention(x, x, x, need_weights=False)
        return self.bottleneck(self.norm(x + mixed))


class Tagger(nn.Module):
    def __init__(self, vocab=50, width=16, tags=5, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.layers = nn.Sequential(*[Layer(width) for _ in range(depth)])
        self.tag = nn.Linear(width, tags)

    def forward(self, words):
        return self.tag(self.layers(self.embed(words)))


def select_parameters(model, patterns):
    for name, p in model.named_parameters():
        p.requires_grad = any(pattern in name for pattern in patterns)
    return model.parameters()


def main():
    model = Tagger()
    optimizer = torch.optim.AdamW(select_parameters(model, ["adapter", "classifier"]), lr=5e-3)
    words = torch.randint(0, 50, (64, 10))
    tags = words % 5
    for epoch in range(3):
        for w, t in zip(words.split(16), tags.split(16)):
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(w).transpose(1, 2), t)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
