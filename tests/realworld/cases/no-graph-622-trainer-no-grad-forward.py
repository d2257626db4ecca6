import tempfile

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed


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


class WeightedTrainer(Trainer):
    weights = torch.tensor([1.0, 2.0, 1.0])

    @torch.no_grad()
    def forward_logits(self, model, inputs):
        features = {key: value for key, value in inputs.items() if key != "labels"}
        return model(**features).logits

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        logits = self.forward_logits(model, inputs)
        loss = nn.functional.cross_entropy(logits, inputs["labels"], weight=self.weights)
        return (loss, {"logits": logits}) if return_outputs else loss


def main():
    set_seed(2)
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
        trainer = WeightedTrainer(model=build_model(), args=args, train_dataset=Reviews())
        trainer.train()


if __name__ == "__main__":
    main()
