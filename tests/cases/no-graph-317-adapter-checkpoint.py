import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(19)


class Adapter(nn.Module):
    def __init__(self, width, bottleneck=6):
        super().__init__()
        self.down, self.up = nn.Linear(width, bottleneck), nn.Linear(bottleneck, width)

    def forward(self, x):
        return x + self.up(F.gelu(self.down(x)))


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(width, width)
        self.adapter = Adapter(width)

    def forward(self, x, mask):
        h = self.mix(self.norm(x)) * mask
        return self.adapter(x + h)


class ProteinModel(nn.Module):
    def __init__(self, letters=21, width=32, depth=3):
        super().__init__()
        self.embed = nn.Embedding(letters, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(depth))
        self.unembed = nn.Linear(width, letters)
        self.save_memory = False

    def enable_checkpointing(self):
        self.save_memory = True

    def forward(self, ids):
        mask = (ids > 0).float().unsqueeze(-1)
        x = self.embed(ids)
        for layer in self.layers:
            if self.save_memory and self.training:
                x = checkpoint(layer, x, mask, use_reentrant=True)
            else:
                x = layer(x, mask)
        return self.unembed(x)


def hide(ids, share=0.2):
    chosen = (torch.rand(ids.shape) < share) & (ids > 0)
    return ids.masked_fill(chosen, 20), ids.masked_fill(~chosen, -100)


def only_adapters(model):
    for name, p in model.named_parameters():
        p.requires_grad_(".adapter." in name)
    return [p for p in model.parameters() if p.requires_grad]


def finetune(model, sequences, epochs, label):
    parameters = only_adapters(model)
    optimizer = torch.optim.AdamW(parameters, lr=3e-3)
    model.train()
    for epoch in range(epochs):
        for ids in sequences.split(12):
            inputs, labels = hide(ids)
            loss = F.cross_entropy(model(inputs).transpose(1, 2), labels, ignore_index=-100)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
        print(f"{label} epoch {epoch} loss {loss.item():.4f}")


model = ProteinModel()
finetune(model, torch.randint(0, 20, (48, 16)), 2, "short")
model.enable_checkpointing()
finetune(model, torch.randint(0, 20, (48, 48)), 2, "long")
