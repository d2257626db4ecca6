import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(96)


class Denoise(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, width, 5, padding=2), nn.ReLU(), nn.Conv1d(width, 1, 5, padding=2))

    def forward(self, x):
        return x - self.net(x)


def waves(n=16, length=40):
    t = torch.linspace(0, 1, length)
    clean = torch.sin(12 * torch.rand(n, 1, 1) * t)
    return clean + 0.3 * torch.randn_like(clean), clean


class AmpTrainer:
    def __init__(self, model, max_norm=1.0, lr=0.05):
        self.model, self.max_norm = model, max_norm
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cpu")
        self.norms = []

    def step(self, noisy, clean):
        self.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = self.model(noisy)
        loss = F.mse_loss(output.float(), clean)
        self.scaler.scale(loss).backward()
        self.norms.append(nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm).item())
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()


trainer = AmpTrainer(Denoise())
for step in range(40):
    loss = trainer.step(*waves())
    if step % 10 == 0:
        print(step, round(loss, 4), "norm", round(trainer.norms[-1], 3))
