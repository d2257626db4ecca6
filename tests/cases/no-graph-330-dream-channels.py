import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(56)


class SmallNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU())
        self.block2 = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())
        self.block3 = nn.Sequential(nn.Conv2d(16, 24, 3, stride=2, padding=1), nn.ReLU())
        self.head = nn.Linear(24, classes)

    def forward(self, x):
        return self.head(self.block3(self.block2(self.block1(x))).mean((2, 3)))


class Recorder:
    def __init__(self, model, names):
        self.maps = {}
        modules = dict(model.named_modules())
        self.handles = [modules[name].register_forward_hook(self.keep(name)) for name in names]

    def keep(self, name):
        def hook(module, inputs, output):
            self.maps[name] = output.detach()

        return hook

    def close(self):
        for handle in self.handles:
            handle.remove()


def strongest(model, images, layer):
    recorder = Recorder(model, [layer])
    with torch.no_grad():
        model(images)
    recorder.close()
    return recorder.maps[layer].mean((0, 2, 3)).argmax().item()


def roughness(image):
    return (image[..., 1:] - image[..., :-1]).abs().mean() + (image[..., 1:, :] - image[..., :-1, :]).abs().mean()


def dream(model, layer, channel, steps=24, settle=6, smooth=0.05):
    recorder = Recorder(model, [layer])
    image = (0.5 + 0.05 * torch.randn(1, 3, 32, 32)).requires_grad_(True)
    optimizer = torch.optim.Adam([image], lr=0.02)
    for step in range(steps):
        dx, dy = torch.randint(-2, 3, (2,)).tolist()
        model(torch.roll(image, (dx, dy), (2, 3)))
        response = recorder.maps[layer][:, channel]
        loss = -(response * (response > response.mean()).float()).mean()
        if step >= settle:
            loss = loss + smooth * roughness(image)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            image.clamp_(0, 1)
        if step % 6 == 0:
            print(f"step {step} response {response.mean().item():.4f}")
    recorder.close()
    return image.detach()


net = SmallNet().eval().requires_grad_(False)
channel = strongest(net, torch.rand(8, 3, 32, 32), "block3")
print("channel", channel, "roughness", round(roughness(dream(net, "block3", channel)).item(), 4))
