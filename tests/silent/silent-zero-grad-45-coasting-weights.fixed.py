import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(152)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(self.body(x))


def run(model, optimizer, steps):
    for _ in range(steps):
        x = torch.randn(32, 8)
        loss = F.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
    return loss.item()


def finish(model):
    for p in model.body.parameters():
        p.requires_grad = False
    return {n: p.clone() for n, p in model.body.named_parameters()}


model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
print("everything", round(run(model, optimizer, 30), 4))
kept = finish(model)
optimizer = torch.optim.SGD(model.head.parameters(), lr=0.05, momentum=0.9)
print("head only", round(run(model, optimizer, 30), 4))
moved = {n: (p - kept[n]).abs().max().item() for n, p in model.body.named_parameters()}
print("body moved by", moved)
