import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertModel, ViTConfig, ViTModel, logging, set_seed

logging.set_verbosity_error()


class TextTower(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bert = BertModel(BertConfig(vocab_size=60, hidden_size=width, num_hidden_layers=1, num_attention_heads=2,
                                         intermediate_size=48, max_position_embeddings=16), add_pooling_layer=False)

    def forward(self, ids):
        hidden = self.bert(ids).last_hidden_state
        keep = (ids > 0).unsqueeze(-1).float()
        return (hidden * keep).sum(1) / keep.sum(1)


class ImageTower(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.vit = ViTModel(ViTConfig(hidden_size=width, num_hidden_layers=1, num_attention_heads=2, intermediate_size=48,
                                      image_size=16, patch_size=8), add_pooling_layer=False)

    def forward(self, pixels):
        return self.vit(pixels).last_hidden_state[:, 0]


class Bank:
    """Embeddings of the last batches, as extra negatives."""

    def __init__(self, size=32):
        self.size, self.rows = size, None

    def extend(self, rows):
        joined = rows if self.rows is None else torch.cat([rows, self.rows])[: self.size]
        self.rows = joined.detach()
        return joined


class Contrastive(nn.Module):
    def __init__(self, width=24, joint=16):
        super().__init__()
        self.text, self.image = TextTower(width), ImageTower(width)
        self.project = nn.ModuleDict({"text": nn.Linear(width, joint), "image": nn.Linear(width, joint)})
        self.scale = nn.Parameter(torch.tensor(2.3))
        self.bank = Bank()

    def forward(self, ids, pixels):
        text = F.normalize(self.project["text"](self.text(ids)), dim=-1)
        image = F.normalize(self.project["image"](self.image(pixels)), dim=-1)
        candidates = self.bank.extend(text)
        logits = self.scale.exp() * image @ candidates.t()
        return F.cross_entropy(logits, torch.arange(len(image)))


set_seed(17)
data = TensorDataset(torch.randint(0, 60, (48, 8)).clamp(min=0), torch.rand(48, 3, 16, 16))
model = Contrastive()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
start = [p.detach().clone() for p in model.project["text"].parameters()]
for epoch in range(2):
    losses = []
    for ids, pixels in DataLoader(data, batch_size=12, shuffle=True):
        optimizer.zero_grad(set_to_none=True)
        loss = model(ids, pixels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch} contrastive {sum(losses) / len(losses):.3f}")
assert not any(torch.equal(p, q) for p, q in zip(model.project["text"].parameters(), start))
