import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class SoilModel(nn.Module):
    def __init__(self, bands=16, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(bands, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.carbon = nn.Linear(width, 1)
        self.texture = nn.Linear(width, 3)

    def forward(self, spectrum):
        h = self.trunk(spectrum)
        return {"carbon": self.carbon(h).squeeze(1), "texture": self.texture(h)}


OBJECTIVES = {"carbon": F.mse_loss, "texture": F.cross_entropy}


def campaign(count, bands=16):
    spectrum = torch.rand(count, bands)
    targets = {"carbon": spectrum[:, :4].sum(1), "texture": spectrum[:, 4:7].argmax(1)}
    return spectrum, targets


class Meter(dict):
    def update_mean(self, name, value, decay=0.8):
        self[name] = decay * self.get(name, value) + (1 - decay) * value


def train_step(model, optimizer, spectrum, targets, meter):
    optimizer.zero_grad()
    outputs = model(spectrum)
    for name, objective in OBJECTIVES.items():
        loss = objective(outputs[name], targets[name])
        loss.backward(retain_graph=True)
        meter.update_mean(name, loss.item())
    optimizer.step()


def main():
    torch.manual_seed(28)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model = DDP(SoilModel())
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    meter = Meter()
    for step in range(20):
        train_step(model, optimizer, *campaign(32), meter)
        if step % 5 == 0:
            print(step, {k: round(v, 4) for k, v in meter.items()})
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
