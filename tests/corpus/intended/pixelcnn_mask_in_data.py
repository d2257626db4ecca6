import torch
import torch.nn.functional as F
from torch import nn


class MaskedConv2d(nn.Conv2d):
    def __init__(self, kind, *args, **kwargs):
        super().__init__(*args, **kwargs)
        _, _, h, w = self.weight.shape
        mask = torch.ones_like(self.weight)
        mask[:, :, h // 2, w // 2 + (kind == "B"):] = 0
        mask[:, :, h // 2 + 1:] = 0
        self.register_buffer("mask", mask)

    def forward(self, x):
        self.weight.data *= self.mask
        return super().forward(x)


def pixel_cnn(channels=12, layers=2):
    parts = [MaskedConv2d("A", 1, channels, 5, padding=2, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
    for _ in range(layers):
        parts += [MaskedConv2d("B", channels, channels, 5, padding=2, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
    return nn.Sequential(*parts, nn.Conv2d(channels, 4, 1))


@torch.no_grad()
def sample(net, size=5):
    net.eval()
    image = torch.zeros(2, 1, size, size)
    for i in range(size):
        for j in range(size):
            probs = net(image)[:, :, i, j].softmax(dim=1)
            image[:, 0, i, j] = torch.multinomial(probs, 1).squeeze(1).float() / 3
    return image


torch.manual_seed(8)
net = pixel_cnn()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(3):
    net.train()
    for _ in range(6):
        levels = (torch.arange(8)[None, :] + torch.randint(0, 4, (8, 1))).remainder(4)
        target = levels[:, None, :].expand(8, 8, 8)
        loss = F.cross_entropy(net(target.unsqueeze(1).float() / 3), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, f"{loss.item():.3f}", sample(net).mean().item())
