import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Mapper(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
        self.grid = torch.rand(20, 2)

    def training_step(self, batch, batch_idx):
        x, y = batch
        optimizer = self.optimizers()
        loss = F.mse_loss(self.net(x).squeeze(1), y)
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()

    def on_train_batch_end(self, outputs, batch, batch_idx):
        with torch.no_grad():
            surface = self.net(self.grid)
        self.log("highest", surface.max())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def main():
    L.seed_everything(17, verbose=False)
    x = torch.rand(48, 2)
    trainer = L.Trainer(max_epochs=3,
        accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(Mapper(), DataLoader(TensorDataset(x, x.prod(1)), 16))


if __name__ == "__main__":
    main()
