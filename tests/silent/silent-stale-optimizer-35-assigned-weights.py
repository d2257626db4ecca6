import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)


class CharLM(nn.Module):
    def __init__(self, vocab=20, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        return self.head(self.norm(h))


def pretrained_state():
    donor = CharLM()
    with torch.no_grad():
        for p in donor.parameters():
            p.mul_(0.9)
    return {k: v.clone() for k, v in donor.state_dict().items()}


def text(batch=16, length=12, vocab=20):
    start = torch.randint(0, vocab, (batch, 1))
    return (start + 3 * torch.arange(length)) % vocab


def make(lr=3e-3):
    model = CharLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    return model, optimizer


model, optimizer = make()
missing = model.load_state_dict(pretrained_state(), assign=True)
print("missing keys", missing.missing_keys)
for step in range(40):
    ids = text()
    logits = model(ids[:, :-1])
    loss = F.cross_entropy(logits.transpose(1, 2), ids[:, 1:])
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    model.zero_grad()
    if step % 10 == 0:
        print(step, f"loss {loss.item():.4f}")
