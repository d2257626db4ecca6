import torch
from torch import nn

torch.manual_seed(8)

MEAN, STD = (0.48, 0.45, 0.40), (0.22, 0.21, 0.23)
LATENT = 10


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(LATENT, 16 * 4 * 4)
        self.up = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 3, 3, padding=1),
        )

    def forward(self, z):
        return self.up(self.project(z).view(-1, 16, 4, 4))


def to_pixels(image):
    for channel, mean, std in zip(image, MEAN, STD):
        channel.mul_(std).add_(mean)
    return image.clamp(0, 1)


def palette_loss(images, palette):
    pixels = torch.stack([to_pixels(image) for image in images])
    colours = pixels.permute(0, 2, 3, 1).reshape(-1, 1, 3)
    gap = (colours - palette).pow(2).sum(dim=-1)
    return gap.min(dim=1).values.mean()


def main():
    palette = torch.tensor([[0.9, 0.8, 0.6], [0.2, 0.3, 0.5], [0.5, 0.2, 0.2]])
    generator = Generator()
    optimizer = torch.optim.Adam(generator.parameters(), lr=4e-3)
    for step in range(15):
        images = generator(torch.randn(6, LATENT))
        loss = palette_loss(images, palette)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"{step:3d}  {loss.item():.4f}")
    with torch.no_grad():
        sheet = generator(torch.randn(2, LATENT)).mean(dim=(2, 3))
    print(sheet)


main()
