from collections import namedtuple

import torch
from torch import nn
from transformers import ElectraConfig, ElectraForSequenceClassification, logging, set_seed

logging.set_verbosity_error()
Explanation = namedtuple("Explanation", "tokens scores label")
WORDS = "[PAD] [CLS] never again a lovely evening dull but fine cast superb".split()


def tokenize(texts):
    rows = [[1] + [WORDS.index(word) for word in text.split()] for text in texts]
    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    return ids, (ids != 0).long()


def fit(model, ids, mask, labels, steps=10):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    for _ in range(steps):
        loss = model(ids, attention_mask=mask, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


class Saliency:
    def __init__(self, model, smooth=4, noise=0.05):
        self.model, self.smooth, self.noise = model.eval(), smooth, noise
        self.table = model.get_input_embeddings()

    def logits(self, vectors, mask):
        return self.model(inputs_embeds=vectors, attention_mask=mask).logits

    def lookup(self, ids):
        vectors = self.table(ids).detach()
        return vectors + self.noise * vectors.std() * torch.randn_like(vectors)

    def slopes(self, ids, mask, label=None):
        vectors = self.lookup(ids).requires_grad_()
        logits = self.logits(vectors, mask)
        label = logits.argmax(-1) if label is None else label
        score = logits.gather(1, label.unsqueeze(1)).sum()
        grads = torch.autograd.grad(score, vectors)[0]
        return (grads * vectors).sum(-1).detach(), label

    def explain(self, ids, mask):
        total, label = self.slopes(ids, mask)
        for _ in range(self.smooth - 1):
            total = total + self.slopes(ids, mask, label)[0]
        for row, scores, chosen in zip(ids, total / self.smooth, label):
            keep = row != 0
            yield Explanation([WORDS[i] for i in row[keep]], nn.functional.normalize(scores[keep], dim=0), chosen.item())


if __name__ == "__main__":
    set_seed(27)
    config = ElectraConfig(vocab_size=len(WORDS), embedding_size=16, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                           intermediate_size=48, max_position_embeddings=16, num_labels=2)
    model = ElectraForSequenceClassification(config)
    ids, mask = tokenize(["a lovely evening", "never again", "dull but fine", "superb cast"])
    print("loss", fit(model, ids, mask, torch.tensor([1, 0, 0, 1])))
    for item in Saliency(model).explain(ids, mask):
        print(item.label, " ".join(f"{t}:{s:.2f}" for t, s in zip(item.tokens, item.scores)))
