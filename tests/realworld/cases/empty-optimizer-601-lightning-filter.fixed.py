import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Probe(L.LightningModule):
    def __init__(self, encoder, classes=3):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(16, classes)
        for parameter in self.encoder.parameters():
            parameter.requires_grad = False

    def forward(self, x):
        return self.head(self.encoder(x))

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self(x), y)

    def configure_optimizers(self):
        trainable = [p for p in self.parameters() if p.requires_grad]
        return torch.optim.AdamW(trainable, lr=1e-3)


def main():
    L.seed_everything(14, verbose=False)
    encoder = nn.Sequential(nn.Linear(7, 16), nn.ReLU())
    loader = DataLoader(TensorDataset(torch.randn(48, 7), torch.randint(0, 3, (48,))), 16)
    trainer = L.Trainer(max_epochs=1,
        accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(Probe(encoder), loader)


if __name__ == "__main__":
    main()
