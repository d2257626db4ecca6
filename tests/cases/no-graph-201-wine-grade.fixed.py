import torch
from torch import nn

torch.manual_seed(5)

N, GRADES = 160, 5
chemistry = torch.randn(N, 11)
latent = chemistry[:, 0] * 0.8 - chemistry[:, 3] * 0.5 + 0.2 * torch.randn(N)
grade = torch.bucketize(latent, torch.tensor([-1.2, -0.4, 0.4, 1.2]))

net = nn.Sequential(
    nn.Linear(11, 24),
    nn.Tanh(),
    nn.Linear(24, GRADES),
)
steps = torch.arange(GRADES, dtype=torch.float32)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

most_common = grade.bincount(minlength=GRADES).argmax().item()
print("most common grade:", most_common)

for epoch in range(15):
    order = torch.randperm(N)
    total = 0.0
    for idx in order.split(32):
        scores = net(chemistry[idx])
        predicted = (scores.softmax(dim=1) * steps).sum(dim=1)
        loss = criterion(predicted.float(), grade[idx].float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 0:
        with torch.no_grad():
            exact = (net(chemistry).argmax(1) == grade).float().mean().item()
        print(f"epoch {epoch:2d}  mse {total:.3f}  exact {exact:.2%}")
