import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class TwoHeads(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.mean = nn.Linear(4, 1)
        self.spread = nn.Linear(4, 1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        opt_mean, opt_spread = self.optimizers()

        self.toggle_optimizer(opt_mean)
        loss = F.mse_loss(self.mean(x).squeeze(1), y)
        opt_mean.zero_grad()
        self.manual_backward(loss)
        opt_mean.step()
        self.untoggle_optimizer(opt_mean)
        self.toggle_optimizer(opt_spread)
        error = (self.mean(x).squeeze(1) - y).detach().abs()
        loss = F.smooth_l1_loss(self.spread(x).squeeze(1), error)
        opt_spread.zero_grad()
        self.manual_backward(loss)
        opt_spread.step()
        self.untoggle_optimizer(opt_spread)

    def configure_optimizers(self):
        return torch.optim.Adam(self.mean.parameters()), torch.optim.Adam(self.spread.parameters())


def main():
    L.seed_everything(4, verbose=False)
    x = torch.randn(64, 4)
    data = TensorDataset(x, x.sum(1) + x[:, 0].abs() * torch.randn(64))
    trainer = L.Trainer(max_epochs=1,
        accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(TwoHeads(), DataLoader(data, 16))


if __name__ == "__main__":
    main()
