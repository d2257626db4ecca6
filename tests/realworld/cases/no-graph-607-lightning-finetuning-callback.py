import lightning as L
import torch
from lightning.pytorch.callbacks import BaseFinetuning
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class WarmHead(BaseFinetuning):
    def __init__(self, until=5):
        super().__init__()
        self.until = until

    def freeze_before_training(self, pl_module):
        self.freeze(pl_module.net)

    def finetune_function(self, pl_module, epoch, optimizer):
        if epoch == self.until:
            self.unfreeze_and_add_param_group(pl_module.net[0], optimizer)


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.net[-1].parameters(), lr=0.05)


def main():
    L.seed_everything(8, verbose=False)
    x = torch.randn(64, 10)
    loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), 16)
    trainer = L.Trainer(max_epochs=2, callbacks=[WarmHead()],
        accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(Model(), loader)


if __name__ == "__main__":
    main()
