import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(25)


class MoE(nn.Module):
    def __init__(self, dim=8, experts=8):
        super().__init__()
        self.gate = nn.Linear(dim, experts)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, dim)) for _ in range(experts))

    def forward(self, x):
        probs = self.gate(x).softmax(dim=-1)
        weight, index = probs.max(dim=-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            rows = (index == e).nonzero().squeeze(1)
            if len(rows):
                out = out.index_add(0, rows, weight[rows, None] * expert(x[rows]))
        share = F.one_hot(index, len(self.experts)).float().mean(0)
        balance = len(self.experts) * (share * probs.mean(0)).sum()
        return x + out, balance


moe, head = MoE(), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*moe.parameters(), *head.parameters()], lr=3e-3)
for step in range(50):
    x = torch.randn(6, 8)
    h, balance = moe(x)
    loss = F.mse_loss(head(h).squeeze(1), x[:, 0] * x[:, 1]) + 0.01 * balance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
