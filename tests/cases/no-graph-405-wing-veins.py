import torch
import torch.nn as nn
import torch.nn.functional as F


class VeinNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU())
        self.block2 = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())
        self.block3 = nn.Sequential(nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.ReLU())
        self.species = nn.Linear(16, 5)

    def forward(self, x):
        x = self.block3(self.block2(self.block1(x)))
        return self.species(x.mean(dim=(2, 3)))


class Recorder:
    def __init__(self, net, names):
        self.net, self.seen = net, {}
        for name in names:
            net.get_submodule(name).register_forward_hook(self.keep(name))

    def keep(self, name):
        def hook(module, args, output):
            self.seen[name] = output.detach()
        return hook

    def __call__(self, x):
        self.net(x)
        return dict(self.seen)


def smoothness(x):
    with_rows = (x[..., 1:, :] - x[..., :-1, :]).abs().mean()
    return with_rows.item()


def invert(recorder, goal, shape, steps=30):
    canvas = torch.full(shape, 0.5).requires_grad_()
    optimizer = torch.optim.Adam([canvas], lr=0.05)
    for step in range(steps):
        found = recorder(canvas)
        loss = sum(F.mse_loss(found[name], goal[name]) for name in goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.5f} roughness {smoothness(canvas):.4f}")
    return canvas.detach()


if __name__ == "__main__":
    torch.manual_seed(405)
    net = VeinNet().eval()
    for p in net.parameters():
        p.requires_grad_(False)
    recorder = Recorder(net, ["block1", "block3"])
    photo = torch.rand(1, 1, 20, 20)
    result = invert(recorder, recorder(photo), photo.shape)
    print(f"distance to the photo {F.l1_loss(result, photo).item():.4f}")
