import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(60)


class Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(2, 24, batch_first=True)
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1]).squeeze(1)


model = Seq()
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
norms = []
for step in range(30):
    x = torch.randn(32, 12, 2)
    loss = F.mse_loss(model(x), x[:, :, 0].sum(dim=1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.5)
    norms.append(nn.utils.clip_grad_norm_(model.parameters(), 1.0).item())
    optimizer.step()
print(loss.item(), max(norms))
