import torch

model = torch.nn.Linear(4, 1)


@torch.compile(backend="aot_eager", fullgraph=True)
def compute_loss(x):
    return model(x).pow(2).mean()


compute_loss(torch.randn(8, 4)).backward()
