import logging
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, alpha=None, reduction="mean"):
        super().__init__()
        self.gamma, self.alpha, self.reduction = gamma, alpha, reduction

    def forward(self, logits, target):
        ce = F.cross_entropy(logits, target, weight=self.alpha, reduction="none")
        loss = (1 - torch.exp(-ce)) ** self.gamma * ce
        if self.reduction == "mean":
            return loss.mean()
        if self.reduction == "sum":
            return loss.sum()
        return loss


class HardExamples(L.Callback):
    """Remembers how hard each batch was."""

    def __init__(self):
        self.history = []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.history.append(float(outputs["loss"]))


class DefectModule(L.LightningModule):
    def __init__(self, channels=8, classes=3, loss_cfg=None):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, channels, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten())
        self.classifier = nn.Linear(channels * 16, classes)
        self.criterion = FocalLoss(**(loss_cfg or {}))

    def forward(self, images):
        return self.classifier(self.features(images))

    def training_step(self, batch, batch_idx):
        images, target = batch
        logits = self(images)
        loss = self.criterion(logits, target)
        accuracy = (logits.argmax(dim=1) == target).float().mean()
        self.log("train_acc", accuracy, prog_bar=True)
        return {"loss": loss, "logits": logits.detach()}

    def validation_step(self, batch, batch_idx):
        images, target = batch
        per_image = self.criterion(self(images), target)
        self.log("val_loss", per_image.mean())
        self.log("val_worst", per_image.max())

    def configure_optimizers(self):
        return {"optimizer": torch.optim.RMSprop(self.parameters(), lr=1e-3)}


CONFIG = {"seed": 5, "batch_size": 16, "loss": {"gamma": 1.5, "reduction": "none"}}


def main(config):
    L.seed_everything(config["seed"])
    data = TensorDataset(torch.rand(80, 1, 12, 12), torch.randint(0, 3, (80,)))
    train, val = random_split(data, [64, 16])
    hard = HardExamples()
    trainer = L.Trainer(accelerator="cpu", max_epochs=1, callbacks=[hard], logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=1)
    trainer.fit(DefectModule(loss_cfg=config["loss"]), DataLoader(train, config["batch_size"]), DataLoader(val, 16))
    print("hardest batch", max(hard.history))


if __name__ == "__main__":
    main(CONFIG)
