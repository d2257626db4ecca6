import torch
import torch.nn as nn

torch.manual_seed(54)


class FlowNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, 2, 3, padding=1))

    def forward(self, a, b):
        return self.net(torch.cat([a, b], dim=1))


def smoothness(flow):
    dy, dx = torch.gradient(flow, dim=(2, 3))
    return (dx.abs() + dy.abs()).mean()


def endpoint_error(flow, truth):
    return ((flow - truth).pow(2).sum(dim=1) + 1e-6).sqrt().mean()


def movies(n=8, size=12):
    a = torch.rand(n, 1, size, size)
    shift = torch.randint(-1, 2, (n, 2))
    b = torch.stack([f.roll(tuple(s), dims=(1, 2)) for f, s in zip(a, shift.tolist())])
    return a, b, shift.float()[:, :, None, None].expand(n, 2, size, size)


net = FlowNet()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(40):
    a, b, truth = movies()
    flow = net(a, b)
    penalty = smoothness(flow)
    loss = endpoint_error(flow, truth) + 0.5 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4), "smoothness", round(penalty.item(), 4))
