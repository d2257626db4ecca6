import logging
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class TwoViews(Dataset):
    def __init__(self, count=96, size=20):
        self.base = torch.randn(count, size)

    def __len__(self):
        return len(self.base)

    def __getitem__(self, index):
        x = self.base[index]
        return x + 0.1 * torch.randn_like(x), x * (torch.rand_like(x) > 0.2)


class SwAV(L.LightningModule):
    def __init__(self, n_prototypes=10, dim=16, temperature=0.1):
        super().__init__()
        self.temperature = temperature
        self.backbone = nn.Sequential(nn.Linear(20, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, dim))
        self.prototypes = nn.Linear(dim, n_prototypes, bias=False)

    def project(self, x):
        return self.prototypes(F.normalize(self.backbone(x), dim=1))

    @torch.no_grad()
    def renorm(self):
        weight = F.normalize(self.prototypes.weight, dim=1)
        self.prototypes.weight.copy_(weight)

    @torch.no_grad()
    def sinkhorn(self, scores, iterations=3, epsilon=0.05):
        self.renorm()
        q = torch.exp(scores / epsilon).t()
        q /= q.sum()
        for _ in range(iterations):
            q /= q.sum(dim=1, keepdim=True) * q.shape[0]
            q /= q.sum(dim=0, keepdim=True) * q.shape[1]
        return (q * q.shape[1]).t()

    def swapped(self, scores, codes):
        return -(codes * F.log_softmax(scores / self.temperature, dim=1)).sum(1).mean()

    def training_step(self, batch, batch_idx):
        first, second = (self.project(view) for view in batch)
        q1, q2 = self.sinkhorn(first.detach()), self.sinkhorn(second.detach())
        loss = self.swapped(first, q2) + self.swapped(second, q1)
        self.log("swav", loss, on_epoch=True)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)]


L.seed_everything(11)
trainer = L.Trainer(accelerator="cpu", max_epochs=2, logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(SwAV(), DataLoader(TwoViews(), batch_size=32, shuffle=True))
print(trainer.callback_metrics)
