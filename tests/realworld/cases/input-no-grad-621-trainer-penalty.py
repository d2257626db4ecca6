import tempfile

import torch
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


class SmoothTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        embeddings = model.get_input_embeddings()(inputs["input_ids"]).detach()
        outputs = model(inputs_embeds=embeddings, labels=inputs["labels"])
        (slope,) = torch.autograd.grad(outputs.loss, embeddings, create_graph=True)
        loss = outputs.loss + 0.1 * slope.pow(2).sum(-1).mean()
        return (loss, outputs) if return_outputs else loss


def main():
    set_seed(15)
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
        SmoothTrainer(model=build_model(), args=args, train_dataset=Reviews()).train()


if __name__ == "__main__":
    main()
