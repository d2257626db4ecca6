import torch
from torch import nn

torch.manual_seed(21)
CHANNELS = ("pressure", "humidity", "wind", "temperature")


def weather_maps(n):
    centre = torch.tensor([1013.0, 60.0, 8.0, 14.0]).view(1, 4, 1, 1)
    spread = torch.tensor([9.0, 20.0, 4.0, 7.0]).view(1, 4, 1, 1)
    noise = torch.randn(n, 4, 12, 12)
    rain = (noise[:, 1].mean(dim=(1, 2)) - noise[:, 0].mean(dim=(1, 2)) > 0).float()
    return centre + spread * noise, rain


class RainNet(nn.Module):
    def __init__(self, sample):
        super().__init__()
        self.register_buffer("mean", sample.mean(dim=(0, 2, 3), keepdim=True))
        self.register_buffer("std", sample.std(dim=(0, 2, 3), keepdim=True))
        self.features = nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.score = nn.Linear(8 * 25, 1)

    def forward(self, x):
        x = x.sub_(self.mean).div_(self.std)
        return self.score(self.features(x).flatten(1)).squeeze(1)


def fit(net, steps=30):
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    criterion = nn.BCEWithLogitsLoss()
    for _ in range(steps):
        maps, rain = weather_maps(32)
        optimizer.zero_grad()
        loss = criterion(net(maps), rain)
        loss.backward()
        optimizer.step()
    return loss.item()


def channel_relevance(net, maps):
    net.eval()
    maps = maps.clone().requires_grad_(True)
    score = net(maps).sum()
    (gradient,) = torch.autograd.grad(score, maps)
    return (gradient * maps).abs().mean(dim=(0, 2, 3))


if __name__ == "__main__":
    net = RainNet(weather_maps(100)[0])
    print(f"training loss {fit(net):.3f}")
    for name, value in zip(CHANNELS, channel_relevance(net, weather_maps(6)[0])):
        print(f"{name:12s} {value.item():.4f}")
