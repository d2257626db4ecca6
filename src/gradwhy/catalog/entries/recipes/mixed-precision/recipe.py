"""Train in mixed precision: the forward pass under autocast, the loss scaled, the gradients unscaled before they are clipped."""

import torch
from torch import nn

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
# float16 needs the scaler; with bfloat16 autocast alone is enough (enabled=False makes the scaler do nothing).
dtype = torch.float16 if device == "cuda" else torch.bfloat16

model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler(device, init_scale=1024.0)
direction = torch.randn(16, 1, device=device) / 4

losses, skipped = [], 0
for _ in range(80):
    inputs = torch.randn(64, 16, device=device)
    targets = torch.tanh(inputs @ direction)
    with torch.autocast(device, dtype=dtype):
        outputs = model(inputs)
        loss = nn.functional.mse_loss(outputs.float(), targets)

    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    before = scaler.get_scale()
    scaler.update()
    skipped += scaler.get_scale() < before
    losses.append(loss.item())

assert outputs.dtype == dtype and loss.dtype == torch.float32, "products in half precision, the loss in full"
assert all(parameter.dtype == torch.float32 for parameter in model.parameters()), "weights stay in full precision"
assert skipped < 5 and torch.isfinite(norm)
assert sum(losses[-10:]) < 0.3 * sum(losses[:10])

# After unscale_ the gradients are those of the loss itself.
optimizer.zero_grad()
loss = nn.functional.mse_loss(model(inputs), targets)
plain = torch.autograd.grad(loss, list(model.parameters()))
loss = nn.functional.mse_loss(model(inputs), targets)
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
assert all(torch.allclose(value.grad, gradient, atol=1e-6) for value, gradient in zip(model.parameters(), plain))
print(f"loss {sum(losses[:10]) / 10:.3f} -> {sum(losses[-10:]) / 10:.3f}, {skipped} skipped steps")
