import tempfile

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


class Sequences(Dataset):
    def __init__(self, count=32, length=12, vocab=48):
        start = torch.randint(0, vocab, (count, 1))
        self.ids = (start + torch.arange(length)) % vocab

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i]}


def load_base():
    return GPT2LMHeadModel(GPT2Config(vocab_size=48, n_positions=32, n_embd=24, n_layer=2, n_head=2))


def main():
    set_seed(16)
    model = load_base()
    model = get_peft_model(model, LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
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
        trainer = Trainer(model=model, args=args, train_dataset=Sequences(), optimizers=(optimizer, None))
        trainer.train()


if __name__ == "__main__":
    main()
