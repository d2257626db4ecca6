import torch

w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.LBFGS([w])


def closure():
    optimizer.zero_grad()
    loss = w.pow(2).sum()
    loss.backward()
    return loss


optimizer.step(closure)
