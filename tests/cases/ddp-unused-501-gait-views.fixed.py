import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


class MaskBranch(nn.Module):
    def __init__(self, joints=17):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(2 * joints, 24), nn.ReLU(), nn.Linear(24, joints))

    def forward(self, pose):
        return torch.sigmoid(self.score(pose.flatten(-2)))


class GaitNet(nn.Module):
    def __init__(self, joints=17, people=6, settle_after=4):
        super().__init__()
        self.mask = MaskBranch(joints)
        self.temporal = nn.GRU(2 * joints, 32, batch_first=True)
        self.identity = nn.Linear(32, people)
        self.settle_after, self.iteration = settle_after, 0

    def forward(self, pose):
        if self.training:
            self.iteration += 1
            if self.iteration > self.settle_after:
                self.mask.eval()
                self.mask.requires_grad_(False)
        weighted = pose * self.mask(pose).unsqueeze(-1)
        frames, _ = self.temporal(weighted.flatten(-2))
        return self.identity(frames.mean(1))


def walks(count, people=6, frames=12):
    who = torch.randint(0, people, (count,))
    speed = 0.5 + 0.3 * who[:, None, None, None]
    t = torch.arange(frames)[:, None, None]
    return torch.sin(speed * t + torch.arange(17)[:, None]) + 0.1 * torch.randn(count, frames, 17, 2), who


def run(steps=10):
    model = DDP(GaitNet(), find_unused_parameters=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        pose, who = walks(24)
        loss = F.cross_entropy(model(pose), who)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"iteration {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(33)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    run()
    dist.destroy_process_group()
