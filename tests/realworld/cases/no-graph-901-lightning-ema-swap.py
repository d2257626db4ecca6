import copy
import logging
import warnings

import lightning.pytorch as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class EMAWeights(pl.Callback):
    """Keeps an exponential moving average of the weights and validates with it."""

    def __init__(self, decay=0.9):
        self.decay = decay
        self.shadow, self.backup = None, None

    def on_fit_start(self, trainer, pl_module):
        self.shadow = copy.deepcopy(pl_module.state_dict())

    @torch.no_grad()
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        for name, value in pl_module.state_dict().items():
            self.shadow[name].lerp_(value, 1 - self.decay)

    def on_validation_start(self, trainer, pl_module):
        self.backup = copy.deepcopy(pl_module.state_dict())
        pl_module.load_state_dict(self.shadow)
        pl_module.requires_grad_(False)

    def on_validation_end(self, trainer, pl_module):
        pl_module.load_state_dict(self.backup)
        self.backup = None


class Forecaster(pl.LightningModule):
    def __init__(self, window=12, hidden=24):
        super().__init__()
        self.save_hyperparameters()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)
        self.criterion = nn.SmoothL1Loss()

    def forward(self, x):
        states, _ = self.rnn(x.unsqueeze(-1))
        return self.out(states[:, -1]).squeeze(-1)

    def _shared_step(self, batch, stage):
        x, y = batch
        loss = self.criterion(self(x), y)
        self.log(f"{stage}_loss", loss, prog_bar=True)
        return loss

    def training_step(self, batch, batch_idx):
        return self._shared_step(batch, "train")

    def validation_step(self, batch, batch_idx):
        self._shared_step(batch, "val")

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-3)


def windows(series, size):
    x = series.unfold(0, size, 1)[:-1]
    return TensorDataset(x, series[size:])


if __name__ == "__main__":
    pl.seed_everything(3)
    t = torch.arange(160) * 0.2
    series = t.sin() + 0.1 * torch.randn(160)
    train, val = windows(series[:120], 12), windows(series[120:], 12)
    trainer = pl.Trainer(max_epochs=2, accelerator="cpu", num_sanity_val_steps=0, callbacks=[EMAWeights()],
                         logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Forecaster(), DataLoader(train, 27, shuffle=True), DataLoader(val, 27))
    print(trainer.callback_metrics)
