import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(52)


class Extractor(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(1, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1, stride=2)])
        self.requires_grad_(False)

    @torch.no_grad()
    def forward(self, image):
        maps = []
        for layer in self.layers:
            image = torch.relu(layer(image))
            maps.append(image)
        return maps


class TextureLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.extractor = Extractor().eval()

    def forward(self, output, target):
        return sum(F.l1_loss(a, b) for a, b in zip(self.extractor(output), self.extractor(target)))


class Upscaler(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 4, 3, padding=1))

    def forward(self, small):
        return F.pixel_shuffle(self.body(small), 2)


def patches(n=8):
    big = torch.rand(n, 1, 16, 16)
    return F.avg_pool2d(big, 2), big


model = Upscaler()
texture = TextureLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(30):
    small, big = patches()
    output = model(small)
    pixel_loss = F.l1_loss(output, big)
    texture_loss = texture(output, big)
    loss = pixel_loss + 0.2 * texture_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, f"pixel {pixel_loss.item():.4f} texture {texture_loss.item():.4f}")
