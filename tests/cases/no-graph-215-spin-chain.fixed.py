import torch

torch.manual_seed(3)
SITES = 16


def soft_spins(field, temperature):
    return torch.tanh(field / temperature)


def energy(spins, coupling):
    s = spins
    return -(coupling * s * torch.roll(s, 1, dims=-1)).sum(dim=-1)


def magnetisation(spins):
    return spins.detach().sign().mean().item()


def anneal(coupling, start=2.0, stop=0.2, steps=40):
    field = torch.randn(4, SITES, requires_grad=True)
    optimizer = torch.optim.SGD([field], lr=0.3, momentum=0.5)
    schedule = torch.linspace(start, stop, steps).tolist()
    best = float("inf")
    for n, temperature in enumerate(schedule):
        spins = soft_spins(field, temperature)
        total = energy(spins, coupling).mean()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        best = min(best, total.item())
        if n % 10 == 0:
            print(f"T={temperature:.2f} E={total.item():.3f} m={magnetisation(spins):+.3f}")
    return field.detach().sign().int(), best


coupling = torch.where(torch.rand(SITES) > 0.3, 1.0, -1.0)
state, best = anneal(coupling)
print("lowest", round(best, 3))
print(state.tolist()[0])
