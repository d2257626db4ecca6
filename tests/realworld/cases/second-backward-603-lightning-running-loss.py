import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Smoothed(L.LightningModule):
    def __init__(self, momentum=0.9):
        super().__init__()
        self.net = nn.Linear(3, 1)
        self.momentum = momentum
        self.running = 0.0

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.l1_loss(self.net(x).squeeze(1), y)
        self.running = self.momentum * self.running + (1 - self.momentum) * loss
        self.log("running", self.running)
        return self.running

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def main():
    L.seed_everything(13, verbose=False)
    x = torch.randn(64, 3)
    loader = DataLoader(TensorDataset(x, x.sum(1)), 8)
    trainer = L.Trainer(max_epochs=1,
        accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(Smoothed(), loader)


if __name__ == "__main__":
    main()
