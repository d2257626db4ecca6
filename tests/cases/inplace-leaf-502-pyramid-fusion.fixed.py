import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(4)


class ConvBlock(nn.Module):
    def __init__(self, c_in, c_out, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(c_in, c_out, 3, stride=stride, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(c_out)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.act(self.norm(self.conv(x)))


class WeightedFusion(nn.Module):
    """Adds two feature maps with learned, normalised, non-negative shares."""

    def __init__(self, channels, eps=1e-4):
        super().__init__()
        self.eps = eps
        self.share = nn.Parameter(torch.tensor([0.9, 1.1]))
        self.act = nn.ReLU()
        self.smooth = ConvBlock(channels, channels)

    def forward(self, fine, coarse):
        share = self.act(self.share)
        share = share / (share.sum() + self.eps)
        coarse = F.interpolate(coarse, size=fine.shape[-2:], mode="nearest")
        return self.smooth(share[0] * fine + share[1] * coarse)


class FieldSegmenter(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.stem = ConvBlock(3, width)
        self.down = ConvBlock(width, width, stride=2)
        self.fuse = WeightedFusion(width)
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, image):
        fine = self.stem(image)
        return self.head(self.fuse(fine, self.down(fine)))


def fields(n, size=16):
    image = torch.rand(n, 3, size, size)
    mask = (F.avg_pool2d(image[:, 1:2], 5, stride=1, padding=2) > image.mean()).float()
    return image, mask


model = FieldSegmenter()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
model.train()
for it in range(12):
    image, mask = fields(8)
    loss = F.binary_cross_entropy_with_logits(model(image), mask)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 4), "shares", [round(s, 3) for s in model.fuse.share.tolist()])
