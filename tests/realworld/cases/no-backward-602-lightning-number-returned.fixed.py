import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Autoencoder(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(9, 3), nn.Linear(3, 9))

    def step(self, batch):
        (x,) = batch
        loss = F.mse_loss(self.net(x), x)
        return {"loss": loss, "size": len(x)}

    def training_step(self, batch, batch_idx):
        result = self.step(batch)
        self.log("train_loss", result["loss"])
        return result

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def main():
    L.seed_everything(16, verbose=False)
    trainer = L.Trainer(max_epochs=1,
        accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(Autoencoder(), DataLoader(TensorDataset(torch.randn(40, 9)), 8))


if __name__ == "__main__":
    main()
