import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
        self.head = nn.Linear(16, 10)

    def setup(self, stage):
        self.head = nn.Linear(16, self.trainer.datamodule_classes)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self.head(self.body(x)), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def main():
    L.seed_everything(19, verbose=False)
    x = torch.randn(64, 6)
    trainer = L.Trainer(max_epochs=2,
        accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.datamodule_classes = 3
    trainer.fit(Classifier(), DataLoader(TensorDataset(x, x[:, :3].argmax(1)), 16))


if __name__ == "__main__":
    main()
