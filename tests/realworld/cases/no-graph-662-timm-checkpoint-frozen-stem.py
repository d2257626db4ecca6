import timm
import torch
from timm.layers import set_reentrant_ckpt
from torch import nn


class Adapter(nn.Module):
    def __init__(self, block, dim, rank=4):
        super().__init__()
        self.block = block
        self.adapt = nn.Sequential(nn.Linear(dim, rank), nn.GELU(), nn.Linear(rank, dim))

    def forward(self, x, **kwargs):
        return self.block(x, **kwargs) + self.adapt(x)


def main():
    torch.manual_seed(8)
    set_reentrant_ckpt(True)
    model = timm.create_model("vit_tiny_patch16_224", pretrained=False, img_size=32, depth=2, num_classes=0)
    model.requires_grad_(False)
    model.blocks = nn.Sequential(*(Adapter(block, model.embed_dim) for block in model.blocks))
    model.set_grad_checkpointing(True)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    model.train()
    for step in range(2):
        features = model(torch.randn(4, 3, 32, 32))
        loss = nn.functional.mse_loss(features[:2], features[2:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
