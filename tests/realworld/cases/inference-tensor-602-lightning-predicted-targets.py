import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Encoder(L.LightningModule):
    def __init__(self, out=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 16), nn.GELU(), nn.Linear(16, out))

    def forward(self, x):
        return self.net(x)

    def predict_step(self, batch, batch_idx):
        return self(batch[0])


class Student(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.scale = nn.Linear(8, 1)

    def training_step(self, batch, batch_idx):
        features, y = batch
        return F.mse_loss(self.scale(features).squeeze(1), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def main():
    L.seed_everything(9, verbose=False)
    x, y = torch.randn(64, 5), torch.randn(64)
    options = dict(
        accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    loader = DataLoader(TensorDataset(x), 16)
    features = L.Trainer(**options).predict(Encoder(), loader)
    data = list(zip(features, y.split(16)))
    L.Trainer(max_epochs=2, **options).fit(Student(), DataLoader(data, batch_size=None))


if __name__ == "__main__":
    main()
