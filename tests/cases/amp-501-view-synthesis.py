import torch
from torch import nn
from torch.amp import GradScaler, autocast


class ViewNet(nn.Module):
    def __init__(self, pose=6, width=48, pixels=64):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(pose, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, pixels))

    def forward(self, pose):
        return self.layers(pose)


def render(pose, pixels=64):
    grid = torch.linspace(-1, 1, pixels)
    return torch.sin(3 * pose[:, :1] + grid * (1 + pose[:, 1:2])) * pose[:, 2:3]


def views(count, size=32):
    for i in range(count):
        pose = torch.randn(size, 6)
        if i % 5 == 3:
            pose = pose * 6
        yield i, pose, render(pose)


class Trainer:
    def __init__(self, model, lr=1e-3, max_norm=1.0, skip_norm=1.5):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.scaler = GradScaler("cpu", init_scale=2.0**8)
        self.max_norm, self.skip_norm = max_norm, skip_norm
        self.updates = 0

    def loss(self, pose, image):
        with autocast("cpu", dtype=torch.bfloat16):
            predicted = self.model(pose)
        return (predicted.float() - image).pow(2).mean()

    def step(self, pose, image):
        loss = self.loss(pose, image)
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        if norm > self.skip_norm:
            return loss.item(), norm.item()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.updates += 1
        return loss.item(), norm.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = Trainer(ViewNet())
    for i, pose, image in views(20):
        loss, norm = trainer.step(pose, image)
        print(f"{i:2d} loss {loss:.4f} norm {norm:.3f} updates {trainer.updates}")
