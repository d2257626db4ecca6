import tempfile
from pathlib import Path

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Denoiser(L.LightningModule):
    def __init__(self, width=16):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 8))

    def training_step(self, batch, batch_idx):
        (clean,) = batch
        noisy = clean + 0.1 * torch.randn_like(clean)
        loss = F.mse_loss(self.net(noisy), clean)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def restore(path):
    model = Denoiser.load_from_checkpoint(path)
    model.freeze()
    return model


def main():
    L.seed_everything(6, verbose=False)
    options = dict(
        accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    loader = DataLoader(TensorDataset(torch.randn(64, 8)), 16)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "denoiser.ckpt")
        first = L.Trainer(max_epochs=1, **options)
        first.fit(Denoiser(), loader)
        first.save_checkpoint(path)
        model = restore(path)
    L.Trainer(max_epochs=1, **options).fit(model, loader)


if __name__ == "__main__":
    main()
