import torch
import torch.nn as nn


class PairPotential(nn.Module):
    def __init__(self, basis=8, cutoff=3.0):
        super().__init__()
        self.register_buffer("centers", torch.linspace(0.5, cutoff, basis))
        self.mlp = nn.Sequential(nn.Linear(basis, 16), nn.SiLU(), nn.Linear(16, 1))
        self.cutoff = cutoff

    def energy(self, atoms):
        i, j = torch.triu_indices(len(atoms), len(atoms), offset=1)
        r = (atoms[i] - atoms[j]).norm(dim=1)
        r = r[r < self.cutoff]
        basis = torch.exp(-4 * (r[:, None] - self.centers) ** 2)
        return self.mlp(basis).sum()

    def forward(self, cells):
        return torch.tensor([self.energy(atoms) for atoms in cells])


def lennard_jones(atoms):
    r = torch.pdist(atoms).clamp(min=0.9)
    return (4 * (r ** -12 - r ** -6)).sum()


class Fitter:
    def __init__(self, model, lr=5e-3):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    def step(self, cells, energies):
        self.optimizer.zero_grad()
        error = self.model(cells) - energies
        loss = error.pow(2).mean()
        loss.backward()
        self.optimizer.step()
        return error.abs().mean().item()


def main():
    torch.manual_seed(409)
    cells = [torch.rand(int(n), 3) * 2.5 for n in torch.randint(4, 9, (20,))]
    energies = torch.stack([lennard_jones(atoms) for atoms in cells])
    fitter = Fitter(PairPotential())
    for epoch in range(4):
        errors = [fitter.step(cells[k:k + 5], energies[k:k + 5]) for k in range(0, 20, 5)]
        print(f"epoch {epoch}: mean error {sum(errors) / len(errors):.3f}")


if __name__ == "__main__":
    main()
