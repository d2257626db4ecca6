import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Ranker(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.score = nn.Linear(6, 1)

    def training_step(self, batch, batch_idx):
        better, worse = batch
        opt = self.optimizers()
        margin = self.score(better) - self.score(worse)
        loss = F.softplus(-margin).mean()
        opt.zero_grad()
        self.manual_backward(loss)
        opt.step()
        self.log("loss", loss)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def main():
    L.seed_everything(15, verbose=False)
    loader = DataLoader(TensorDataset(torch.randn(32, 6) + 1, torch.randn(32, 6)), 8)
    trainer = L.Trainer(max_epochs=1,
        accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(Ranker(), loader)


if __name__ == "__main__":
    main()
