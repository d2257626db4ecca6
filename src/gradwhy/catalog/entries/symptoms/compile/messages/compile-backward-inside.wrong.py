import torch

model = torch.nn.Linear(4, 1)


@torch.compile(backend="aot_eager", fullgraph=True)
def train_step(x):
    loss = model(x).pow(2).mean()
    loss.backward()
    return loss


train_step(torch.randn(8, 4))
