import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(45)


class Modal(nn.Module):
    def __init__(self):
        super().__init__()
        self.text = nn.EmbeddingBag(30, 16)
        self.audio = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.head = nn.Linear(16, 2)

    def forward(self, item):
        h = self.text(item) if item.dtype == torch.long else self.audio(item)
        return self.head(h)


model = Modal()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.0)
for step in range(45):
    if step % 3 == 2:
        x = torch.randn(16, 8)
        y = (x[:, 0] > 0).long()
    else:
        x = torch.randint(0, 30, (16, 4))
        y = (x.float().mean(1) > 14.5).long()
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
print(loss.item())
