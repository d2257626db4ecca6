import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(2)


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Conv2d(a, b, 3, stride=s, padding=1) for a, b, s in [(3, 8, 1), (8, 12, 2), (12, 16, 2)]
        )
        for p in self.parameters():
            p.requires_grad_(False)

    def forward(self, x):
        maps = []
        for layer in self.layers:
            x = F.relu(layer(x))
            maps.append(x)
        return maps


def gram(maps):
    flat = maps.flatten(2)
    return flat @ flat.transpose(1, 2) / flat.shape[1:].numel()


class StyleObjective:
    def __init__(self, features, content, style, weight=200.0):
        self.features, self.weight = features, weight
        with torch.no_grad():
            self.content = features(content)[-1]
        self.styles = [gram(m).detach() for m in features(style)]

    def __call__(self, image):
        maps = self.features(image)
        content = F.mse_loss(maps[-1], self.content)
        style = sum(F.mse_loss(gram(m), target) for m, target in zip(maps, self.styles))
        return content + self.weight * style


class Canvas:
    def __init__(self, start):
        self.pixels = start.clone().requires_grad_(True)

    def keep_in_range(self):
        with torch.no_grad():
            self.pixels = self.pixels.clamp(0, 1)

    def render(self):
        return self.pixels.mul(2).sub(1)


def transfer(content, style, steps=20, lr=0.03):
    features = Features()
    objective = StyleObjective(features, content, style)
    canvas = Canvas(content)
    optimizer = torch.optim.Adam([canvas.pixels], lr=lr)
    for step in range(steps):
        optimizer.zero_grad()
        loss = objective(canvas.render())
        loss.backward()
        optimizer.step()
        canvas.keep_in_range()
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    return canvas.pixels.detach()


result = transfer(torch.rand(1, 3, 24, 24), torch.rand(1, 3, 24, 24))
print("range", round(result.min().item(), 3), round(result.max().item(), 3))
