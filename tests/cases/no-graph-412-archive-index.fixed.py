import torch
from torch import nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, words=40, width=16):
        super().__init__()
        self.bag = nn.EmbeddingBag(words, width)
        self.project = nn.Linear(width, width)

    def forward(self, pages):
        return F.normalize(self.project(torch.tanh(self.bag(pages))), dim=1)


class Archive:
    def __init__(self, pages, refresh_every=3):
        self.pages, self.refresh_every = pages, refresh_every
        self.vectors, self.age = None, 0

    def index(self, encoder):
        self.age += 1
        if self.vectors is not None and self.age % self.refresh_every:
            return self.vectors
        torch.set_grad_enabled(False)
        encoder.eval()
        self.vectors = torch.cat([encoder(chunk) for chunk in self.pages.split(20)])
        encoder.train()
        torch.set_grad_enabled(True)
        return self.vectors


def hard_negatives(query, answer, vectors):
    similarity = query.detach() @ vectors.t()
    similarity.scatter_(1, answer[:, None], -2.0)
    return similarity.topk(3, dim=1).indices


def main():
    torch.manual_seed(412)
    pages = torch.randint(0, 40, (60, 9))
    archive, encoder = Archive(pages), Encoder()
    optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)
    for step in range(9):
        vectors = archive.index(encoder)
        answer = torch.randint(0, 60, (12,))
        query = encoder(pages[answer][:, :5])
        rivals = encoder(pages[hard_negatives(query, answer, vectors)].flatten(0, 1)).view(12, 3, -1)
        good = (query * encoder(pages[answer])).sum(1, keepdim=True)
        bad = torch.einsum("bd,bkd->bk", query, rivals)
        loss = F.cross_entropy(torch.cat([good, bad], 1) / 0.1, torch.zeros(12, dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
