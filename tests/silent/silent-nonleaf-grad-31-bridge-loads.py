import torch

torch.manual_seed(120)


def simulate(stiffness, loads):
    return (loads / stiffness).cumsum(dim=1)


def fit(loads, measured, steps=150, lr=0.3):
    stiffness = torch.full((loads.shape[1],), 2.0, requires_grad=True).view(1, -1)
    offset = torch.zeros(1, requires_grad=True)
    for step in range(steps):
        loss = (simulate(stiffness, loads) + offset - measured).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            for value in (stiffness, offset):
                if value.grad is not None:
                    value -= lr * value.grad
                    value.grad.zero_()
        if step % 50 == 0:
            print(step, round(loss.item(), 5), "offset", round(offset.item(), 4))
    return stiffness, offset


loads = torch.rand(60, 6)
truth = torch.tensor([1.2, 2.8, 1.9, 2.2, 1.4, 2.5])
measured = simulate(truth, loads) + 0.3 + 0.01 * torch.randn(60, 6)
stiffness, offset = fit(loads, measured)
print("stiffness", [round(v, 2) for v in stiffness.flatten().tolist()])
