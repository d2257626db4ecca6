import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class VAE(L.LightningModule):
    def __init__(self, latent=4):
        super().__init__()
        self.automatic_optimization = False
        self.encoder = nn.Linear(12, 2 * latent)
        self.decoder = nn.Linear(latent, 12)

    def training_step(self, batch, batch_idx):
        (x,) = batch
        opt = self.optimizers()
        mean, log_var = self.encoder(x).chunk(2, dim=-1)
        z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
        reconstruction = F.mse_loss(self.decoder(z), x)
        divergence = -0.5 * (1 + log_var - mean**2 - log_var.exp()).mean()
        opt.zero_grad()
        self.manual_backward(reconstruction)
        self.manual_backward(0.1 * divergence)
        opt.step()
        self.log_dict({"reconstruction": reconstruction, "divergence": divergence})

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def main():
    L.seed_everything(12, verbose=False)
    loader = DataLoader(TensorDataset(torch.rand(64, 12)), 16)
    trainer = L.Trainer(max_epochs=1,
        accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(VAE(), loader)


if __name__ == "__main__":
    main()
