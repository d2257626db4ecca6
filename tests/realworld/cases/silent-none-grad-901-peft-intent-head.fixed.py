import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import BertConfig, BertModel, logging, set_seed

logging.set_verbosity_error()
INTENTS = ["book", "cancel", "ask", "greet"]


class IntentModel(nn.Module):
    def __init__(self, config, intents):
        super().__init__()
        self.bert = BertModel(config)
        self.intent = nn.Sequential(nn.Linear(config.hidden_size, 32), nn.Tanh(), nn.Linear(32, intents))
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    def forward(self, input_ids, labels=None):
        logits = self.intent(self.bert(input_ids).pooler_output)
        loss = None if labels is None else self.criterion(logits, labels)
        return loss, logits


def adapt(model, rank=4):
    lora = LoraConfig(r=rank, lora_alpha=16, lora_dropout=0.0, target_modules=["query", "value"], bias="none", modules_to_save=["intent"])
    return get_peft_model(model, lora)


def batches(ids, labels, size):
    order = torch.randperm(len(ids))
    for chunk in order.split(size):
        yield ids[chunk], labels[chunk]


@torch.no_grad()
def accuracy(model, ids, labels):
    model.eval()
    _, logits = model(ids)
    model.train()
    return (logits.argmax(-1) == labels).float().mean().item()


set_seed(12)
config = BertConfig(vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                    max_position_embeddings=12)
model = adapt(IntentModel(config, len(INTENTS)))
ids = torch.randint(1, 40, (64, 8))
labels = ids[:, 0] % len(INTENTS)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3)
first = {n: p.detach().clone() for n, p in model.named_parameters() if "intent" in n}
for epoch in range(3):
    for inputs, targets in batches(ids, labels, 16):
        loss, _ = model(inputs, labels=targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f} accuracy {accuracy(model, ids, labels):.2f}")
now = dict(model.named_parameters())
assert not any(torch.equal(now[n], p) for n, p in first.items() if "modules_to_save" in n) and any("modules_to_save" in n for n in now)
