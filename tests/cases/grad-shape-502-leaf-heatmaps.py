import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(71)
DISEASES = ["healthy", "rust", "blight"]


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2))
        self.block2 = nn.Sequential(nn.Conv2d(8, 12, 3, padding=1), nn.ReLU())
        self.classify = nn.Linear(12, len(DISEASES))

    def forward(self, x):
        return self.classify(self.block2(self.block1(x)).mean(dim=(2, 3)))


class Heatmapper:
    def __init__(self, net, layer):
        self.net, self.maps = net, None
        layer.register_forward_hook(self.keep)

    def keep(self, module, args, output):
        output.retain_grad()
        self.maps = output

    def __call__(self, images, labels=None):
        logits = self.net(images)
        if labels is None:
            labels = logits.argmax(dim=1)
        chosen = torch.zeros(1, logits.shape[1])
        chosen[0, labels] = 1.0
        self.net.zero_grad()
        logits.backward(gradient=chosen)
        weights = self.maps.grad.mean(dim=(2, 3), keepdim=True)
        heat = F.relu((weights * self.maps).sum(dim=1)).detach()
        return heat / (heat.amax(dim=(1, 2), keepdim=True) + 1e-8)


def leaves(n):
    label = torch.randint(0, 3, (n,))
    image = 0.3 * torch.rand(n, 3, 16, 16)
    image[:, 1] += 0.5
    for i, kind in enumerate(label.tolist()):
        row, col = torch.randint(0, 11, (2,)).tolist()
        if kind:
            image[i, 2 * (kind - 1), row:row + 5, col:col + 5] += 0.8
    return image, label


net = LeafNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(20):
    image, label = leaves(16)
    optimizer.zero_grad()
    loss = F.cross_entropy(net(image), label)
    loss.backward()
    optimizer.step()
print(f"training loss {loss.item():.3f}")

explain = Heatmapper(net.eval(), net.block2)
image, label = leaves(5)
for kind, heat in zip(label.tolist(), explain(image, label)):
    print(f"{DISEASES[kind]:8s} hottest cell {divmod(heat.argmax().item(), heat.shape[1])}")
