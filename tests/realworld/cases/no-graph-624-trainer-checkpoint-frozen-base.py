import tempfile

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, ViTConfig, ViTModel, set_seed


class Pairs(Dataset):
    def __init__(self, count=24):
        self.images = torch.rand(count, 3, 16, 16)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return {"pixel_values": self.images[i], "labels": torch.tensor(i % 3)}


class Adapter(nn.Module):
    def __init__(self, layer, rank=4):
        super().__init__()
        self.layer = layer
        self.down = nn.Linear(layer.in_features, rank, bias=False)
        self.up = nn.Linear(rank, layer.out_features, bias=False)

    def forward(self, x):
        return self.layer(x) + self.up(self.down(x))


def add_adapters(model):
    model.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear) and child.out_features == 48:
                setattr(module, name, Adapter(child))
    return model


class EmbeddingTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(pixel_values=inputs["pixel_values"])
        features = nn.functional.normalize(outputs.last_hidden_state[:, 0], dim=-1)
        same = (inputs["labels"][:, None] == inputs["labels"]).float()
        loss = nn.functional.mse_loss(features @ features.T, same)
        return (loss, outputs) if return_outputs else loss


def main():
    set_seed(4)
    config = ViTConfig(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, image_size=16, patch_size=4
    )
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
            remove_unused_columns=False,
            gradient_checkpointing=True,
            gradient_checkpointing_kwargs={"use_reentrant": True},
        )
        trainer = EmbeddingTrainer(model=add_adapters(ViTModel(config)), args=args, train_dataset=Pairs())
        trainer.train()


if __name__ == "__main__":
    main()
