import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import weight_norm

torch.manual_seed(14)


class Vocoder(nn.Module):
    def __init__(self, mels=8, width=16):
        super().__init__()
        self.inp = nn.Conv1d(mels, width, 5, padding=2)
        self.mid = nn.ModuleList([nn.Conv1d(width, width, 3, padding=d, dilation=d) for d in (1, 3)])
        self.out = nn.Conv1d(width, 1, 5, padding=2)

    def forward(self, mel):
        h = self.inp(mel)
        for conv in self.mid:
            h = h + conv(nn.functional.leaky_relu(h, 0.1))
        return torch.tanh(self.out(h))

    def apply_weight_norm(self):
        for conv in self.mid:
            weight_norm(conv)


class VocoderTrainer:
    def __init__(self, model, lr=2e-3):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.8, 0.99))

    def fit(self, steps):
        self.model.apply_weight_norm()
        self.model.train()
        for step in range(steps):
            mel, wave = clip()
            loss = nn.functional.l1_loss(self.model(mel), wave)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 20 == 0:
                print(step, f"l1 {loss.item():.4f}")


def clip(batch=8, length=32):
    mel = torch.randn(batch, 8, length)
    return mel, torch.tanh(mel[:, :1] - mel[:, 3:4].roll(1, dims=-1))


vocoder = Vocoder()
trainer = VocoderTrainer(vocoder)
trainer.fit(60)
