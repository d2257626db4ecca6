import logging
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Denoiser(L.LightningModule):
    def __init__(self, width=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(1, width, 5, padding=2), nn.BatchNorm1d(width), nn.GELU())
        self.decoder = nn.Sequential(nn.Dropout(0.1), nn.Conv1d(width, 1, 5, padding=2))

    def forward(self, noisy):
        return noisy - self.decoder(self.encoder(noisy))

    def restore(self, noisy):
        self.eval()
        with torch.no_grad():
            return self(noisy)

    def training_step(self, batch, batch_idx):
        noisy, clean = batch
        loss = (self(noisy) - clean).abs().mean()
        self.log("l1", loss)
        return loss

    def predict_step(self, batch, batch_idx):
        return self.restore(batch[0])

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


class Preview(L.Callback):
    def __init__(self, sample, every=2):
        self.sample, self.every = sample, every
        self.images = []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.global_step % self.every:
            return
        noisy, clean = self.sample
        restored = pl_module.restore(noisy.to(pl_module.device))
        gain = (noisy - clean).abs().mean() / (restored - clean).abs().mean()
        self.images.append(restored)
        print(f"step {trainer.global_step:3d} gain {gain:.3f}")


def waves(count, length=32):
    phase = torch.rand(count, 1, 1) * 6.28
    clean = torch.sin(torch.linspace(0, 12, length) + phase)
    return clean + 0.3 * torch.randn_like(clean), clean


L.seed_everything(8)
loader = DataLoader(TensorDataset(*waves(96)), batch_size=16, shuffle=True)
model = Denoiser()
trainer = L.Trainer(accelerator="cpu", max_epochs=2, callbacks=[Preview(waves(4))], logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, loader)
seen = model.encoder[1].num_batches_tracked.item()
print("batches that the statistics have seen:", seen, "of", trainer.global_step)
assert seen < trainer.global_step
