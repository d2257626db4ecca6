import torch
from transformers import BertConfig, BertForSequenceClassification, get_scheduler, logging, set_seed

logging.set_verbosity_error()


class Vocabulary:
    def __init__(self, words):
        self.index = {word: i for i, word in enumerate(words)}

    def __len__(self):
        return len(self.index)

    def add(self, words):
        fresh = [word for word in words if word not in self.index]
        for word in fresh:
            self.index[word] = len(self.index)
        return len(fresh)

    def encode(self, text):
        return [self.index[word] for word in text.split()]


def grouped(model, decay=0.01):
    plain = [p for n, p in model.named_parameters() if n.endswith("bias") or "LayerNorm" in n]
    rest = [p for n, p in model.named_parameters() if not (n.endswith("bias") or "LayerNorm" in n)]
    return [{"params": rest, "weight_decay": decay}, {"params": plain, "weight_decay": 0.0}]


def widen(model, size):
    old = model.get_input_embeddings()
    new = torch.nn.Embedding(size, old.embedding_dim)
    with torch.no_grad():
        new.weight.normal_(std=0.02)
        new.weight[: old.num_embeddings] = old.weight
    model.set_input_embeddings(new)


def numbered(ids):
    return torch.arange(len(ids)) % 3


def setup(vocabulary, texts):
    config = BertConfig(vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                        intermediate_size=64, max_position_embeddings=16, num_labels=3)
    model = BertForSequenceClassification(config)
    words = {word for text in texts for word in text.split()}
    if vocabulary.add(sorted(words)):
        widen(model, len(vocabulary))
    optimizer = torch.optim.AdamW(grouped(model), lr=2e-3)
    scheduler = get_scheduler("cosine", optimizer, num_warmup_steps=1, num_training_steps=8)
    return model, optimizer, scheduler


set_seed(6)
vocabulary = Vocabulary("the cat sat on a mat".split())
texts = ["the axolotl sat on a mat", "a cat sat on the axolotl", "the quokka on the mat sat"]
model, optimizer, scheduler = setup(vocabulary, texts)
ids = torch.tensor([vocabulary.encode(text) for text in texts])
start = {name: p.detach().clone() for name, p in model.named_parameters()}
for step in range(8):
    loss = model(input_ids=ids, labels=numbered(ids)).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    print(f"{step} loss {loss.item():.3f} lr {scheduler.get_last_lr()[0]:.1e}")
still = [name for name, p in model.named_parameters() if torch.equal(p, start[name])]
print("unchanged:", still)
assert not any(name.endswith("word_embeddings.weight") for name in still)
