import torch
import torch.nn.functional as F

torch.manual_seed(34)


class PixelWarp:
    def __init__(self, side):
        rows, columns = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
        self.grid = torch.stack([rows, columns]).float()
        self.side = side

    def __call__(self, image, flow):
        places = (self.grid + flow).clamp(0, self.side - 1).long()
        return image[places[0], places[1]]


class SmoothFlow:
    def __init__(self, side, knots=5):
        self.knots = torch.zeros(1, 2, knots, knots, requires_grad=True)
        self.side = side

    def dense(self):
        return F.interpolate(self.knots, size=(self.side, self.side), mode="bicubic", align_corners=True)[0]

    def bending(self):
        d = self.dense()
        return (d[:, 1:] - d[:, :-1]).square().mean() + (d[:, :, 1:] - d[:, :, :-1]).square().mean()


def correlation(a, b, mask):
    a, b = a[mask], b[mask]
    a, b = a - a.mean(), b - b.mean()
    return (a * b).sum() / (a.norm() * b.norm() + 1e-6)


class Registration:
    def __init__(self, side=24, stages=((0.1, 8), (0.0, 8)), lr=0.2):
        self.warp, self.flow = PixelWarp(side), SmoothFlow(side)
        self.stages, self.lr = stages, lr

    def run(self, fixed, moving):
        mask = fixed > fixed.quantile(0.2)
        for bending, steps in self.stages:
            optimizer = torch.optim.Adam([self.flow.knots], lr=self.lr)
            for _ in range(steps):
                optimizer.zero_grad()
                moved = self.warp(moving, self.flow.dense())
                similarity = correlation(moved, fixed, mask)
                loss = 1 - similarity
                if bending > 0:
                    loss = loss + bending * self.flow.bending()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                largest = self.flow.dense().abs().amax().item()
            print(f"bending {bending} similarity {similarity.item():.4f} largest shift {largest:.3f}")


def blobs(side, shift=0.0, count=5):
    generator = torch.Generator().manual_seed(4)
    centres = torch.rand(count, 2, generator=generator) * side
    at = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij"), -1).float()
    return torch.exp(-(at[:, :, None] - centres - shift).square().sum(-1) / 12).sum(-1)


Registration().run(blobs(24), blobs(24, shift=1.7))
