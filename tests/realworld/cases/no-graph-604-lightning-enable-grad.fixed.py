import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class ScoreNet(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.log_density = nn.Sequential(nn.Linear(2, 32), nn.Softplus(), nn.Linear(32, 1))

    def score(self, x):
        x = x.clone().requires_grad_()
        out = self.log_density(x).sum()
        return torch.autograd.grad(out, x, create_graph=True)[0]

    def training_step(self, batch, batch_idx):
        (x,) = batch
        noise = torch.randn_like(x)
        return F.mse_loss(self.score(x + 0.3 * noise), -noise / 0.3)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)

    def test_step(self, batch, batch_idx):
        (x,) = batch
        with torch.enable_grad():
            norm = self.score(x).norm(dim=-1).mean()
        self.log("score_norm", norm)


def main():
    L.seed_everything(2, verbose=False)
    data = TensorDataset(torch.randn(80, 2))
    model = ScoreNet()
    trainer = L.Trainer(max_epochs=1, inference_mode=False,
        accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(data, 16))
    trainer.test(model, DataLoader(data, 16), verbose=False)


if __name__ == "__main__":
    main()
