import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(15)
model = nn.Sequential(nn.Linear(7, 32), nn.GELU(), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
accumulate = 4

for epoch in range(3):
    batches = [torch.randn(8, 7) for _ in range(10)]
    for i, x in enumerate(batches):
        y = x.pow(2).sum(dim=1, keepdim=True)
        loss = F.mse_loss(model(x), y) / accumulate
        loss.backward()
        if (i + 1) % accumulate == 0 or i + 1 == len(batches):
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    print(epoch, loss.item() * accumulate)
