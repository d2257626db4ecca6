import copy

import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(406)


def expert(sources=5):
    return nn.Sequential(nn.Linear(sources, 20), nn.ReLU(), nn.Linear(20, 3))


class Merger(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.skeleton = copy.deepcopy(experts[0]).requires_grad_(False)
        self.states = [{k: v.detach().clone() for k, v in e.state_dict().items()} for e in experts]
        self.mix = nn.ParameterDict({k.replace(".", "_"): nn.Parameter(torch.zeros(len(experts))) for k in self.states[0]})

    def shares(self, name):
        return self.mix[name.replace(".", "_")].data.softmax(dim=0)

    def merged(self):
        weights = {}
        for name in self.states[0]:
            stack = torch.stack([state[name] for state in self.states])
            weights[name] = torch.tensordot(self.shares(name), stack, dims=1)
        return weights

    def forward(self, x):
        return functional_call(self.skeleton, self.merged(), (x,))


def entropy(logits):
    p = logits.softmax(dim=-1)
    return -(p * p.clamp(min=1e-8).log()).sum(dim=-1).mean()


experts = [expert() for _ in range(3)]
merger = Merger(experts)
optimizer = torch.optim.Adam([p for p in merger.parameters() if p.requires_grad], lr=0.05)
unlabeled = torch.randn(96, 5)
for epoch in range(3):
    for x in unlabeled.split(32):
        loss = entropy(merger(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} entropy {loss.item():.4f}")
for name, p in merger.mix.items():
    print(name, [round(v, 3) for v in p.detach().softmax(0).tolist()])
