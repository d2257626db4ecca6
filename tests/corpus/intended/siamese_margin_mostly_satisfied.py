import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(89)
net = nn.Linear(6, 4, bias=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
loss_fn = nn.TripletMarginLoss(margin=0.5)
centres = 4 * torch.randn(3, 6)
for step in range(40):
    a = torch.randint(0, 3, (16,))
    n = (a + torch.randint(1, 3, (16,))) % 3
    anchor = net(centres[a] + torch.randn(16, 6))
    positive = net(centres[a] + torch.randn(16, 6))
    negative = net(centres[n] + torch.randn(16, 6))
    loss = loss_fn(anchor, positive, negative)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
