import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(13)
teacher = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 5))
student = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 5))
x = torch.randn(256, 8)
y = (x @ torch.randn(8, 5)).argmax(1)

opt = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for _ in range(40):
    opt.zero_grad()
    F.cross_entropy(teacher(x), y).backward()
    opt.step()

teacher.eval()
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
T, alpha = 2.0, 0.7
for epoch in range(40):
    with torch.no_grad():
        soft = F.softmax(teacher(x) / T, dim=1)
    logits = student(x)
    kd = F.kl_div(F.log_softmax(logits / T, dim=1), soft, reduction="batchmean") * T * T
    loss = alpha * kd + (1 - alpha) * F.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("student accuracy", (student(x).argmax(1) == y).float().mean().item())
