import torch
import torch.nn as nn
import torch.nn.functional as F


class GRUBackbone(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.rnn = nn.GRU(width, width, batch_first=True)

    def forward(self, ids):
        return self.rnn(self.tokens(ids))[0]


class LMHead(nn.Module):
    def __init__(self, width, vocab):
        super().__init__()
        self.proj = nn.Linear(width, vocab, bias=False)

    def tie(self, embedding):
        self.proj.weight = embedding.weight
        return self

    def forward(self, h):
        return self.proj(h)


class LanguageModel(nn.Module):
    def __init__(self, backbone, head):
        super().__init__()
        self.backbone, self.head = backbone, head

    def forward(self, ids):
        return self.head(self.backbone(ids))


def freeze(module):
    for p in module.parameters():
        p.requires_grad = False
    return module.eval()


def build(backbone, vocab, width, tie_weights=True):
    backbone = freeze(backbone)
    head = LMHead(width, vocab)
    if tie_weights:
        head.tie(backbone.tokens)
    return LanguageModel(backbone, head)


def perplexity(model, ids):
    with torch.no_grad():
        logits = model(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).exp().item()


def main(vocab=60, width=24):
    torch.manual_seed(3)
    corpus = torch.randint(0, vocab, (64, 18))
    pretrained = GRUBackbone(vocab, width)
    model = build(pretrained, vocab, width)
    optimizer = torch.optim.Adam(model.head.parameters(), lr=5e-3)
    print("before", round(perplexity(model, corpus), 2))
    for epoch in range(4):
        for ids in corpus.split(16):
            weights = (ids[:, 1:] != 0).float()
            logits = model(ids[:, :-1])
            each = F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
            loss = (each * weights).sum() / weights.sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, round(perplexity(model, corpus), 2))


main()
