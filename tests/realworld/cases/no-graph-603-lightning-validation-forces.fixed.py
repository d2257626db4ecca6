import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Potential(L.LightningModule):
    def __init__(self, hidden=24):
        super().__init__()
        self.energy = nn.Sequential(nn.Linear(3, hidden), nn.SiLU(), nn.Linear(hidden, 1))

    def forward(self, positions):
        positions = positions.detach().requires_grad_(True)
        energy = self.energy(positions).sum()
        forces, = torch.autograd.grad(energy, positions, create_graph=self.training)
        return energy, -forces

    def training_step(self, batch, batch_idx):
        positions, forces = batch
        _, predicted = self(positions)
        return F.mse_loss(predicted, forces)

    def validation_step(self, batch, batch_idx):
        positions, forces = batch
        with torch.enable_grad():
            _, predicted = self(positions)
        self.log("val_mae", F.l1_loss(predicted, forces))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def main():
    L.seed_everything(11, verbose=False)
    positions = torch.randn(64, 3)
    data = TensorDataset(positions, -positions)
    trainer = L.Trainer(max_epochs=2, num_sanity_val_steps=0,
        accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(Potential(), DataLoader(data, 16), DataLoader(data, 16))
    print(trainer.callback_metrics["val_mae"].item() > 0)


if __name__ == "__main__":
    main()
