import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(78)


class Discrete(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 6))
        self.dec = nn.Linear(6, 8, bias=False)

    def forward(self, x, tau):
        code = F.gumbel_softmax(self.enc(x), tau=tau, hard=True)
        return self.dec(code)


model = Discrete()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
centres = torch.randn(5, 8)
for step in range(60):
    x = centres[torch.randint(0, 5, (32,))] + 0.05 * torch.randn(32, 8)
    loss = F.mse_loss(model(x, tau=max(0.5, 1 - step / 100)), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
