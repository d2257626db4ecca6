import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.models import squeezenet1_1
from torchvision.models.feature_extraction import create_feature_extractor
from torchvision.transforms import v2


class Photos(Dataset):
    def __init__(self, count=12, size=48):
        self.images = torch.rand(count, 3, size, size)
        self.blur = v2.GaussianBlur(5, sigma=1.5)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        sharp = self.images[index]
        return self.blur(sharp), sharp


class FeatureLoss(nn.Module):
    def __init__(self, nodes=("features.3", "features.6"), weights=(1.0, 0.5)):
        super().__init__()
        net = squeezenet1_1(weights=None).eval().requires_grad_(False)
        self.extract = create_feature_extractor(net, {node: f"level{i}" for i, node in enumerate(nodes)})
        self.normalize = v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
        self.weights = weights

    @torch.inference_mode()
    def features(self, images):
        return self.extract(self.normalize(images))

    def forward(self, output, target):
        ours, theirs = self.features(output), self.features(target)
        terms = [w * F.l1_loss(ours[k], theirs[k]) for w, k in zip(self.weights, ours)]
        return torch.stack(terms).sum()


class Deblur(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x):
        return (x + self.body(x)).clamp(0, 1)


class Objective:
    def __init__(self, pixel=0.1, perceptual=1.0):
        self.pixel, self.perceptual = pixel, perceptual
        self.feature_loss = FeatureLoss()

    def __call__(self, output, target):
        parts = {"pixel": F.l1_loss(output, target), "perceptual": self.feature_loss(output, target)}
        total = self.pixel * parts["pixel"] + self.perceptual * parts["perceptual"]
        return total, parts


torch.manual_seed(14)
model, objective = Deblur(), Objective()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for blurred, sharp in DataLoader(Photos(), batch_size=4, shuffle=True):
        loss, parts = objective(model(blurred), sharp)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, {name: round(value.item(), 4) for name, value in parts.items()})
assert not parts["perceptual"].requires_grad
