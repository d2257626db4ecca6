import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)


class TiedLM(nn.Module):
    def __init__(self, vocab=24, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.Linear(dim, vocab, bias=False)
        self.decoder.weight = self.embed.weight

    def forward(self, ids):
        return self.decoder(self.rnn(self.embed(ids))[0])


lm = TiedLM()
optimizer = torch.optim.Adam(lm.parameters(), lr=5e-3)
for step in range(30):
    start = torch.randint(0, 24, (16, 1))
    ids = (start + 5 * torch.arange(9)) % 24
    loss = F.cross_entropy(lm(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(lm.parameters(), 1.0)
    optimizer.step()
print(loss.item(), lm.decoder.weight is lm.embed.weight)
