import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(45)


class Camera:
    def __init__(self, size=10):
        self.size = size

    def frames(self, count):
        for _ in range(count):
            speed = torch.rand(()).item()
            wave = torch.sin(torch.arange(self.size) * speed + torch.rand(()))
            yield wave.expand(self.size, -1) + 0.05 * torch.randn(self.size, self.size), speed


class Batcher:
    def __init__(self, camera, batch_size):
        self.camera = camera
        self.batch_size = batch_size
        self.images = torch.empty(batch_size, camera.size, camera.size)

    def __call__(self, batches):
        for _ in range(batches):
            frames, speeds = zip(*self.camera.frames(self.batch_size))
            self.images = torch.stack(frames)
            yield self.images, torch.tensor(speeds)


class SpeedNet(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.rows = nn.Linear(size, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, images):
        return self.out(F.gelu(self.rows(images)).mean(1)).squeeze(1)


def main(steps=15, virtual=3):
    camera = Camera()
    net = SpeedNet(camera.size)
    batcher = Batcher(camera, batch_size=12)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=2e-3)
    for step in range(steps):
        errors = [F.mse_loss(net(images), speeds) for images, speeds in batcher(virtual)]
        loss = torch.stack(errors).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"step {step:2d}  loss {loss.item():.4f}")


main()
