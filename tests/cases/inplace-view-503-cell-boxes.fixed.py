import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(30)
GRID, SIZE = 4, 32


class CellDetector(nn.Module):
    def __init__(self):
        super().__init__()
        self.stride = SIZE // GRID
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.LeakyReLU(0.1),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.LeakyReLU(0.1),
            nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.LeakyReLU(0.1),
        )
        self.head = nn.Conv2d(16, 5, 1)
        cells = torch.stack(torch.meshgrid(torch.arange(GRID), torch.arange(GRID), indexing="xy"), dim=-1)
        self.register_buffer("cells", cells.float())

    def decode(self, raw):
        raw = raw.permute(0, 2, 3, 1).contiguous()
        xy, wh, conf = raw.split([2, 2, 1], dim=-1)
        centre = (xy.sigmoid() + self.cells) * self.stride
        size = wh.exp() * self.stride
        return torch.cat([centre, size], dim=-1), conf.squeeze(-1)

    def forward(self, image):
        return self.decode(self.head(self.backbone(image)))


def slides(n):
    image = 0.1 * torch.rand(n, 1, SIZE, SIZE)
    boxes, present = torch.zeros(n, GRID, GRID, 4), torch.zeros(n, GRID, GRID)
    for i in range(n):
        x, y = torch.randint(4, SIZE - 4, (2,)).tolist()
        r = int(torch.randint(2, 5, (1,)))
        image[i, 0, y - r:y + r, x - r:x + r] += 1.0
        row, col = y * GRID // SIZE, x * GRID // SIZE
        boxes[i, row, col] = torch.tensor([x, y, 2 * r, 2 * r]).float()
        present[i, row, col] = 1.0
    return image, boxes, present


def detection_loss(boxes, conf, target, present):
    found = present.bool()
    return F.smooth_l1_loss(boxes[found], target[found]) + F.binary_cross_entropy_with_logits(conf, present)


detector = CellDetector()
optimizer = torch.optim.Adam(detector.parameters(), lr=3e-3)
for step in range(11):
    image, target, present = slides(8)
    loss = detection_loss(*detector(image), target, present)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, round(loss.item(), 3))
