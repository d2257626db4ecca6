import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(76)


class Straighten(nn.Module):
    """Moves the digit to the middle with a predicted shift."""

    def __init__(self, size=14):
        super().__init__()
        self.locate = nn.Sequential(nn.Flatten(), nn.Linear(size * size, 24), nn.ReLU(), nn.Linear(24, 2), nn.Tanh())
        axis = torch.linspace(-1, 1, size)
        y, x = torch.meshgrid(axis, axis, indexing="ij")
        self.register_buffer("base", torch.stack([x, y], dim=-1)[None])

    def forward(self, image):
        grid = self.base + self.locate(image)[:, None, None, :]
        return F.grid_sample(image, grid, mode="nearest", align_corners=True)


class ShiftNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.straighten = Straighten()
        self.classify = nn.Sequential(nn.Flatten(), nn.Linear(196, 4))

    def forward(self, image):
        return self.classify(self.straighten(image))


glyphs = (torch.rand(4, 5, 5) < 0.5).float()


def digits(n=32):
    label = torch.randint(0, 4, (n,))
    image = torch.zeros(n, 1, 14, 14)
    for i, k in enumerate(label.tolist()):
        y, x = torch.randint(0, 9, (2,)).tolist()
        image[i, 0, y:y + 5, x:x + 5] = glyphs[k]
    return image, label


net = ShiftNet()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(50):
    image, label = digits()
    loss = F.cross_entropy(net(image), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4))
