import torch
from torch import nn

torch.manual_seed(2)


class Tagger(nn.Module):
    def __init__(self, vectors, tags=5):
        super().__init__()
        self.embed = nn.Embedding.from_pretrained(vectors)
        self.rnn = nn.LSTM(vectors.shape[1], 16, batch_first=True)
        self.out = nn.Linear(16, tags)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[0])


model = Tagger(torch.randn(40, 12))
optimizer = torch.optim.AdamW(filter(lambda p: p.requires_grad, model.parameters()), lr=5e-3)
for step in range(25):
    ids = torch.randint(0, 40, (8, 6))
    loss = nn.functional.cross_entropy(model(ids).transpose(1, 2), ids % 5)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", round(loss.item(), 3), "trained", sum(p.numel() for p in model.parameters() if p.requires_grad))
