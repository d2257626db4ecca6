import torch
import torch.nn as nn
import torch.nn.functional as F


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(2, cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1), nn.GroupNorm(2, cout), nn.ReLU(inplace=True),
    )


class SmallUNet(nn.Module):
    def __init__(self, base=4):
        super().__init__()
        self.down, self.mid = double_conv(1, base), double_conv(base, 2 * base)
        self.up = nn.ConvTranspose2d(2 * base, base, 2, stride=2)
        self.out = nn.Sequential(double_conv(2 * base, base), nn.Conv2d(base, 1, 1))

    def forward(self, x):
        skip = self.down(x)
        deep = self.mid(F.max_pool2d(skip, 2))
        return self.out(torch.cat([skip, self.up(deep)], dim=1))


class Overlap(nn.Module):
    """2|A.B| / (|A| + |B|), averaged over the batch."""

    def __init__(self, threshold=0.5, eps=1e-5):
        super().__init__()
        self.threshold, self.eps = threshold, eps

    def forward(self, logits, target, soft=False):
        probs = torch.sigmoid(logits).flatten(1)
        target = target.flatten(1)
        if not soft:
            probs = (probs > self.threshold).to(target.dtype)
        inter = (probs * target).sum(1)
        union = probs.sum(1) + target.sum(1)
        return ((2 * inter + self.eps) / (union + self.eps)).mean()


class Trainer:
    def __init__(self, model, lr=1e-2):
        self.model, self.overlap = model, Overlap()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.history = {"loss": [], "dice": []}

    def loss(self, logits, target):
        return 1.0 - self.overlap(logits, target)

    def fit(self, images, masks, epochs):
        for _ in range(epochs):
            self.model.train()
            for image, mask in zip(images.split(4), masks.split(4)):
                loss = self.loss(self.model(image), mask)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.history["loss"].append(loss.item())
            self.history["dice"].append(self.validate(images, masks))

    @torch.no_grad()
    def validate(self, images, masks):
        self.model.eval()
        return self.overlap(self.model(images), masks).item()


torch.manual_seed(0)
images = torch.rand(8, 1, 16, 16)
masks = (F.avg_pool2d(images, 3, 1, 1) > 0.5).float()
trainer = Trainer(SmallUNet())
trainer.fit(images, masks, epochs=2)
print(trainer.history)
