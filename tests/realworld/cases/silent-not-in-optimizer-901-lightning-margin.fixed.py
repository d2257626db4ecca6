import logging
import math
import warnings

import lightning.pytorch as pl
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class ArcMargin:
    def __init__(self, features, classes, scale=16.0, margin=0.2):
        self.weight = nn.Parameter(torch.empty(classes, features))
        nn.init.xavier_uniform_(self.weight)
        self.scale, self.margin = scale, margin

    def cosine(self, embedding):
        return F.linear(F.normalize(embedding), F.normalize(self.weight))

    def __call__(self, embedding, labels):
        cosine = self.cosine(embedding).clamp(-1 + 1e-6, 1 - 1e-6)
        shifted = torch.cos(torch.acos(cosine) + self.margin)
        onehot = F.one_hot(labels, cosine.shape[1]).bool()
        return F.cross_entropy(self.scale * torch.where(onehot, shifted, cosine), labels)


class FaceEmbedder(pl.LightningModule):
    def __init__(self, classes=6, features=16, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(24, 48), nn.PReLU(), nn.Linear(48, features))
        self.criterion = ArcMargin(features, classes)

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        embedding = self(x)
        loss = self.criterion(embedding, y)
        self.log_dict({"loss": loss, "norm": embedding.norm(dim=1).mean()}, on_step=False, on_epoch=True)
        return loss

    def on_train_epoch_end(self):
        metrics = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} loss {metrics['loss']:.3f} norm {metrics['norm']:.2f}")

    def configure_optimizers(self):
        optimizer = torch.optim.SGD([*self.parameters(), self.criterion.weight], lr=self.hparams.lr, momentum=0.9, weight_decay=1e-4)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=self.trainer.estimated_stepping_batches)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


pl.seed_everything(21)
labels = torch.randint(0, 6, (120,))
faces = torch.randn(6, 24)[labels] + 0.5 * torch.randn(120, 24)
model = FaceEmbedder()
angles = model.criterion.weight.detach().clone()
trainer = pl.Trainer(max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, DataLoader(TensorDataset(faces, labels), batch_size=24, shuffle=True))
moved = (model.criterion.weight.detach() - angles).abs().max().item()
print(f"class centres moved by {moved:.4f} of {math.sqrt(6 / 22):.2f}")
assert moved > 0
