import torch
import torch.nn as nn

torch.manual_seed(40)


class DepthNet(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1), nn.ELU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.ELU())
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1), nn.ELU(),
            nn.ConvTranspose2d(width, 1, 4, stride=2, padding=1), nn.Softplus())

    def forward(self, image):
        return self.decoder(self.encoder(image))


def scale_invariant(pred, depth, lam=0.5, eps=1e-3):
    gap = (pred + eps).log() - (depth + eps).log()
    return gap.pow(2).mean() - lam * gap.mean().pow(2)


def scenes(n=8):
    image = torch.rand(n, 3, 16, 16)
    depth = 1 + 3 * image.mean(dim=1, keepdim=True) + image[:, :1]
    return image, depth


def configure(net, lr=2e-3):
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=50)
    return optimizer, schedule


net = DepthNet()
optimizer, schedule = configure(net)
for step in range(50):
    image, depth = scenes()
    loss = scale_invariant(net(image), depth)
    net.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4))
