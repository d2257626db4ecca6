import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Rotary(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.inverse = nn.Parameter(1.0 / (100 ** (torch.arange(0, dim, 2) / dim)), requires_grad=False)
        self.cached = None

    def forward(self, length):
        if self.cached is None or self.cached.shape[0] < length:
            angles = torch.outer(torch.arange(length), self.inverse)
            self.cached = torch.cat([angles.sin(), angles.cos()], dim=-1)
        return self.cached[:length]


class Tagger(L.LightningModule):
    def __init__(self, dim=16, tags=4):
        super().__init__()
        self.embed = nn.Embedding(20, dim)
        self.rotary = Rotary(dim)
        self.head = nn.Linear(dim, tags)

    def forward(self, tokens):
        return self.head(self.embed(tokens) * self.rotary(tokens.shape[1]))

    def training_step(self, batch, batch_idx):
        tokens, tags = batch
        return F.cross_entropy(self(tokens).flatten(0, 1), tags.flatten())

    def validation_step(self, batch, batch_idx):
        tokens, tags = batch
        self.log("val_loss", F.cross_entropy(self(tokens).flatten(0, 1), tags.flatten()))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def main():
    L.seed_everything(7, verbose=False)
    tokens = torch.randint(0, 20, (48, 6))
    loader = DataLoader(TensorDataset(tokens, tokens % 4), 16)
    trainer = L.Trainer(max_epochs=1, inference_mode=False,
        accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    model = Tagger()
    before = trainer.validate(model, loader, verbose=False)
    trainer.fit(model, loader)
    print(before, trainer.callback_metrics)


if __name__ == "__main__":
    main()
