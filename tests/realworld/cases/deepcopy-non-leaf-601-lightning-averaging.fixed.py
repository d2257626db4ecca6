import lightning as L
import torch
from lightning.pytorch.callbacks import StochasticWeightAveraging
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Embedder(L.LightningModule):
    def __init__(self, dim=8):
        super().__init__()
        self.net = nn.Linear(5, dim)
        self.center = self.net.weight.mean(dim=1).detach()

    def training_step(self, batch, batch_idx):
        (x,) = batch
        return F.mse_loss(self.net(x), self.center.expand(len(x), -1))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    L.seed_everything(18, verbose=False)
    averaging = StochasticWeightAveraging(swa_lrs=0.05, swa_epoch_start=1)
    trainer = L.Trainer(max_epochs=3, callbacks=[averaging],
        accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(Embedder(), DataLoader(TensorDataset(torch.randn(32, 5)), 8))


if __name__ == "__main__":
    main()
