import tempfile
import warnings

import torch
from torch.utils.data import Dataset
from transformers import DistilBertConfig, DistilBertForTokenClassification, Trainer, TrainingArguments, logging, set_seed

warnings.filterwarnings("ignore")
logging.set_verbosity_error()


class FGM:
    """Fast gradient method: moves the embeddings along their gradient, and back."""

    def __init__(self, model, epsilon=0.5, name="word_embeddings"):
        self.model, self.epsilon, self.name = model, epsilon, name
        self.backup = {}

    def attack(self):
        for name, param in self.model.named_parameters():
            if param.requires_grad and self.name in name:
                self.backup[name] = param.detach().clone()
                norm = param.grad.norm()
                if norm != 0 and not torch.isnan(norm):
                    param.add_(self.epsilon * param.grad / norm)

    @torch.no_grad()
    def restore(self):
        for name, param in self.model.named_parameters():
            if name in self.backup:
                param.copy_(self.backup[name])
        self.backup = {}


class AdversarialTrainer(Trainer):
    def __init__(self, *args, epsilon=0.5, **kwargs):
        super().__init__(*args, **kwargs)
        self.fgm = FGM(self.model, epsilon)

    def training_step(self, model, inputs, num_items_in_batch=None):
        clean = super().training_step(model, inputs, num_items_in_batch)
        self.fgm.attack()
        noisy = super().training_step(model, inputs, num_items_in_batch)
        self.fgm.restore()
        return (clean + noisy) / 2


class Tagged(Dataset):
    def __init__(self, count=32, length=10, vocab=30, tags=3):
        self.ids = torch.randint(1, vocab, (count, length))
        self.labels = self.ids % tags

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.labels[i]}


def main():
    set_seed(9)
    config = DistilBertConfig(vocab_size=30, dim=32, hidden_dim=64, n_layers=2, n_heads=2, max_position_embeddings=16, num_labels=3)
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(folder, max_steps=5, per_device_train_batch_size=8, report_to="none", use_cpu=True,
                                 save_strategy="no", disable_tqdm=True, logging_steps=5)
        trainer = AdversarialTrainer(DistilBertForTokenClassification(config), args, train_dataset=Tagged())
        print(trainer.train().training_loss)


if __name__ == "__main__":
    main()
