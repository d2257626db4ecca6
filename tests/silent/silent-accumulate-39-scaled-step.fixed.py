import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(155)


def make(hidden=32):
    model = nn.Sequential(nn.Linear(9, hidden), nn.ReLU(), nn.Linear(hidden, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    return model, optimizer, torch.amp.GradScaler("cpu", init_scale=2.0 ** 14)


def batch(n=48):
    x = torch.randn(n, 9)
    return x, x[:, 0].abs() + 0.3 * x[:, 1]


def step(model, optimizer, scaler, x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = model(x)
    loss = F.mse_loss(output.float().squeeze(1), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


model, optimizer, scaler = make()
for it in range(40):
    x, y = batch()
    value = step(model, optimizer, scaler, x, y)
    if it % 10 == 0:
        print(it, round(value, 4), "scale", scaler.get_scale())
