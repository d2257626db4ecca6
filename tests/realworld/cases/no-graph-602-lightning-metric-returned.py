import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Classifier(L.LightningModule):
    def __init__(self, classes=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, classes))

    def shared_step(self, batch, stage):
        x, y = batch
        logits = self.net(x)
        loss = F.cross_entropy(logits, y)
        accuracy = (logits.argmax(dim=1) == y).float().mean()
        self.log_dict({f"{stage}_loss": loss, f"{stage}_accuracy": accuracy})
        return accuracy

    def training_step(self, batch, batch_idx):
        return self.shared_step(batch, "train")

    def validation_step(self, batch, batch_idx):
        self.shared_step(batch, "val")

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    L.seed_everything(5, verbose=False)
    x = torch.randn(96, 6)
    data = TensorDataset(x, x[:, :3].argmax(dim=1))
    trainer = L.Trainer(max_epochs=1, num_sanity_val_steps=0,
        accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(Classifier(), DataLoader(data, 16, shuffle=True), DataLoader(data, 32))
    print(trainer.callback_metrics)


if __name__ == "__main__":
    main()
