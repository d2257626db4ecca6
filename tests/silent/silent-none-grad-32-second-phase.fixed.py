import torch
import torch.nn as nn
import torch.nn.functional as F


class LeafNet(nn.Module):
    def __init__(self, species=4):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.head = nn.Linear(32, species)

    def forward(self, x):
        return self.head(self.backbone(x))


class Trainer:
    def __init__(self, model):
        self.model = model

    def set_trainable(self, module, flag):
        for param in module.parameters():
            param.requires_grad_(flag)

    def run(self, batches, lr):
        optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, self.model.parameters()), lr=lr)
        for x, y in batches:
            loss = F.cross_entropy(self.model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()


def leaves(batches, n=32):
    out = []
    for _ in range(batches):
        x = torch.randn(n, 16)
        out.append((x, (x[:, :4] + x[:, 4:8]).argmax(dim=1)))
    return out


torch.manual_seed(61)
model = LeafNet()
model.backbone.requires_grad_(False)
trainer = Trainer(model)
print("head only", round(trainer.run(leaves(20), lr=1e-2), 4))
trainer.set_trainable(model.backbone, True)
print("fine-tuning", round(trainer.run(leaves(40), lr=2e-3), 4))
