import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
before = [p.detach().clone() for p in model.parameters()]
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler("cuda") if torch.cuda.is_available() else None


def update(loss):
    optimizer.zero_grad()
    if scaler is not None:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        optimizer.step()
    return float(loss.detach())


losses = []
for _ in range(12):
    x = torch.randn(32, 6)
    losses.append(update(nn.functional.mse_loss(model(x).squeeze(1), x[:, 0])))
print(f"first {losses[0]:.3f}, last {losses[-1]:.3f}")
assert not any(torch.equal(p, b) for p, b in zip(model.parameters(), before))
