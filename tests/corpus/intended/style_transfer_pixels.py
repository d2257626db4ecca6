import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(74)
features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())
features.eval().requires_grad_(False)


def gram(x):
    f = features(x).flatten(2)
    return f @ f.transpose(1, 2) / f.shape[-1]


content, style = torch.rand(1, 3, 16, 16), torch.rand(1, 3, 16, 16)
content_goal, style_goal = features(content), gram(style)
image = content.clone().requires_grad_(True)
optimizer = torch.optim.Adam([image], lr=0.02)
for step in range(30):
    optimizer.zero_grad()
    loss = F.mse_loss(features(image), content_goal) + 50 * F.mse_loss(gram(image), style_goal)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        image.clamp_(0, 1)
print(loss.item())
