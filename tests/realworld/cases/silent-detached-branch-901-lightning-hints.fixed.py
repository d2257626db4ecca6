import logging
import warnings

import lightning.pytorch as pl
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class TapLayer:
    """Collects what named layers put out during a forward pass."""

    def __init__(self, model, names):
        self.outputs = {}
        modules = dict(model.named_modules())
        self.handles = [modules[name].register_forward_hook(self.keep(name)) for name in names]

    def keep(self, name):
        def hook(module, inputs, output):
            self.outputs[name] = output
        return hook

    def close(self):
        for handle in self.handles:
            handle.remove()


def tower(width):
    return nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))


class Distiller(pl.LightningModule):
    def __init__(self, hint_layers=("0", "2"), beta=5.0):
        super().__init__()
        self.beta = beta
        self.teacher, self.student = tower(32).requires_grad_(False), tower(12)
        self.regressors = nn.ModuleList(nn.Linear(12, 32) for _ in hint_layers)
        self.tap_t, self.tap_s = TapLayer(self.teacher, hint_layers), TapLayer(self.student, hint_layers)

    def hint_loss(self):
        pairs = zip(self.tap_s.outputs.values(), self.tap_t.outputs.values())
        return sum(F.mse_loss(regress(s), t) for regress, (s, t) in zip(self.regressors, pairs))

    def training_step(self, batch, batch_idx):
        x, y = batch
        soft = self.teacher(x).softmax(dim=-1)
        logits = self.student(x)
        task = F.cross_entropy(logits, y) + F.kl_div(logits.log_softmax(-1), soft, reduction="batchmean")
        hints = self.beta * self.hint_loss()
        self.log_dict({"task": task, "hints": hints})
        return task + hints

    def configure_optimizers(self):
        groups = [{"params": self.student.parameters()}, {"params": self.regressors.parameters(), "lr": 5e-3}]
        return torch.optim.AdamW(groups, lr=1e-3)

    def teardown(self, stage):
        self.tap_t.close()
        self.tap_s.close()


pl.seed_everything(2)
x = torch.randn(64, 16)
model = Distiller()
trainer = pl.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                     enable_model_summary=False)
trainer.fit(model, DataLoader(TensorDataset(x, model.teacher(x).argmax(1)), batch_size=16))
tap = TapLayer(model.student, ("0", "2"))
model.student(x)
print({name: tuple(out.shape) for name, out in tap.outputs.items()}, trainer.callback_metrics)
assert all(out.requires_grad for out in tap.outputs.values())
