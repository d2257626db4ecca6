import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(45)


class ReviewNet(nn.Module):
    def __init__(self, vectors, hidden=16):
        super().__init__()
        self.lexicon = nn.Embedding.from_pretrained(vectors, freeze=False)
        self.rnn = nn.GRU(vectors.shape[1], hidden, batch_first=True)
        self.out = nn.Linear(hidden, 2)

    def forward(self, ids):
        _, last = self.rnn(self.lexicon(ids))
        return self.out(last[0])


def keep_pretrained(model):
    model.lexicon.requires_grad = False
    return model


def reviews(n=32):
    ids = torch.randint(0, 40, (n, 8))
    return ids, (ids.float().mean(dim=1) > 19.5).long()


vectors = torch.randn(40, 12)
model = keep_pretrained(ReviewNet(vectors.clone()))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(50):
    ids, label = reviews()
    loss = F.cross_entropy(model(ids), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4))
print("pretrained vectors kept:", torch.equal(model.lexicon.weight, vectors))
