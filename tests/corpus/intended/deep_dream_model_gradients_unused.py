import torch
import torch.nn as nn

torch.manual_seed(75)
model = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.Tanh(), nn.Conv2d(6, 6, 3, padding=1), nn.Tanh(), nn.Flatten(), nn.Linear(6 * 64, 4)).eval()
image = torch.zeros(1, 1, 8, 8).normal_(std=0.1).requires_grad_(True)
optimizer = torch.optim.SGD([image], lr=0.5)
for step in range(25):
    optimizer.zero_grad()
    score = model(image)[0, 2] - 0.01 * image.pow(2).sum()
    (-score).backward()
    optimizer.step()
    if step % 8 == 0:
        print(step, score.item())
