import tempfile

import torch
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)


class Reviews(Dataset):
    def __init__(self, count=32, length=10, vocab=40, classes=3):
        self.ids = torch.randint(2, vocab, (count, length))
        self.labels = self.ids[:, 0] % classes

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.labels[i]}


def build_model():
    config = BertConfig(
        vocab_size=40, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, num_labels=3
    )
    return BertForSequenceClassification(config)


class Probe(TrainerCallback):
    def __init__(self, ids):
        self.ids = ids
        self.history = []

    def on_step_end(self, args, state, control, model=None, **kwargs):
        torch.set_grad_enabled(False)
        model.eval()
        self.history.append(model(input_ids=self.ids).logits.softmax(-1).max(-1).values.mean().item())
        model.train()


def main():
    set_seed(12)
    data = Reviews()
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
        probe = Probe(data.ids[:4])
        trainer = Trainer(model=build_model(), args=args, train_dataset=data, callbacks=[probe])
        trainer.train()
    print(probe.history)


if __name__ == "__main__":
    main()
