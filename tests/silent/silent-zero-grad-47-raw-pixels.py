import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(154)


class RegionAttention(nn.Module):
    def __init__(self, channels=6, dim=8):
        super().__init__()
        self.query = nn.Linear(channels, dim, bias=False)
        self.key = nn.Linear(channels, dim, bias=False)
        self.value = nn.Linear(channels, dim)

    def forward(self, regions):
        scores = self.query(regions) @ self.key(regions).transpose(1, 2)
        return scores.softmax(dim=-1) @ self.value(regions / 255)


class SceneNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.attention = RegionAttention()
        self.out = nn.Linear(8, classes)

    def forward(self, regions):
        return self.out(self.attention(regions).mean(dim=1))


def scenes(n=24, regions=7):
    x = torch.randint(0, 256, (n, regions, 6)).float() * torch.randint(1, 40, (n, regions, 1))
    return x, x[:, :, :3].mean(dim=1).argmax(dim=1)


def main():
    net = SceneNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    first = {n: p.detach().clone() for n, p in net.named_parameters()}
    for step in range(40):
        x, y = scenes()
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, round(loss.item(), 4))
    return net, {n: (p - first[n]).abs().max().item() for n, p in net.named_parameters()}


if __name__ == "__main__":
    net, change = main()
    print(change)
