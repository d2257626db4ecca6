import torch
import torch.nn as nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
head = nn.Linear(32, 4)
for param in backbone.parameters():
    param.requires_grad = False
model = nn.Sequential(backbone, head)
optimizer = torch.optim.Adam(head.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()

for step in range(20):
    labels = torch.randint(0, 4, (16,))
    images = torch.randn(16, 3, 12, 12) + labels.view(-1, 1, 1, 1).float()
    optimizer.zero_grad()
    loss = criterion(model(images), labels)
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, loss.item())
