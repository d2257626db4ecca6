import tempfile

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import BertConfig, BertModel, Trainer, TrainingArguments, set_seed


class Reviews(Dataset):
    def __init__(self, count=32, length=10, vocab=40, classes=3):
        self.ids = torch.randint(2, vocab, (count, length))
        self.labels = self.ids[:, 0] % classes

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.labels[i]}


class WithMemory(nn.Module):
    def __init__(self, momentum=0.8):
        super().__init__()
        config = BertConfig(vocab_size=40, hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=48)
        self.encoder = BertModel(config)
        self.head = nn.Linear(24, 3)
        self.momentum = momentum
        self.memory = torch.zeros(24)

    def forward(self, input_ids, labels):
        pooled = self.encoder(input_ids=input_ids).pooler_output
        self.memory = self.momentum * self.memory + (1 - self.momentum) * pooled.detach().mean(0)
        logits = self.head(pooled - self.memory)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def main():
    set_seed(13)
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            output_dir=folder,
            max_steps=4,
            per_device_train_batch_size=8,
            learning_rate=1e-3,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            disable_tqdm=True,
        )
        Trainer(model=WithMemory(), args=args, train_dataset=Reviews()).train()


if __name__ == "__main__":
    main()
