import torch
import torch.nn as nn


class Shore(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 10, 3, padding=1), nn.ELU(), nn.MaxPool2d(2), nn.Conv2d(10, 10, 3), nn.ELU())
        self.label = nn.Linear(10, 3)

    def forward(self, x):
        return self.label(self.features(x).mean(dim=(2, 3)))


def load():
    net = Shore()
    net.eval()
    for p in net.parameters():
        p.requires_grad = False
    return net


def saliency(net, photo, label=None):
    photo = photo.clone().requires_grad_()
    scores = net(photo)
    if label is None:
        label = scores.argmax(dim=1)

    picked = scores.gather(1, label.view(-1, 1)).sum()
    picked.backward()
    return photo.grad.abs().amax(dim=1)


def strongest(heat, k=3):
    width = heat.shape[-1]
    spots = heat.flatten(1).topk(k, dim=1).indices
    return [[(int(s) // width, int(s) % width) for s in row] for row in spots]


def main():
    torch.manual_seed(418)
    net = load()
    photos = torch.rand(2, 3, 14, 14)
    photos[:, :, 4:7, 8:11] += 1.5
    for label in (None, torch.tensor([0, 2])):
        heat = saliency(net, photos, label)
        print(f"mean {heat.mean().item():.5f}, strongest {strongest(heat)}")


if __name__ == "__main__":
    main()
