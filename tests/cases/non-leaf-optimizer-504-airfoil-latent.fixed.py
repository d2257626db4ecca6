import torch
import torch.nn.functional as F
from torch import nn

POINTS, LATENT = 32, 6


def airfoils(count):
    x = torch.linspace(0, 1, POINTS)
    thick = 0.08 + 0.1 * torch.rand(count, 1)
    camber = 0.05 * torch.rand(count, 1)
    return thick * (x.sqrt() - x) + camber * torch.sin(3.1416 * x)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(POINTS, 64), nn.SiLU(), nn.Linear(64, LATENT))
        self.decoder = nn.Sequential(nn.Linear(LATENT, 64), nn.SiLU(), nn.Linear(64, POINTS))

    def forward(self, shape):
        return self.decoder(self.encoder(shape))


def optimizer_for(tensors, lr):
    return torch.optim.Adam(tensors, lr=lr)


def pretrain(model, steps=60):
    optimizer = optimizer_for(model.parameters(), lr=3e-3)
    for _ in range(steps):
        batch = airfoils(32)
        loss = F.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"pretraining loss {loss.item():.6f}")


class Refiner:
    def __init__(self, model, area_weight=0.1):
        self.model, self.area_weight = model, area_weight

    def start(self, observed):
        return self.model.encoder(observed).detach().requires_grad_()

    def refine(self, observed, wanted_area, steps=30):
        latent = self.start(observed)
        optimizer = optimizer_for([latent], lr=0.02)
        for _ in range(steps):
            shape = self.model.decoder(latent)
            loss = F.mse_loss(shape, observed) + self.area_weight * (shape.mean(1) - wanted_area).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return latent.detach(), loss.item()


if __name__ == "__main__":
    torch.manual_seed(9)
    model = AutoEncoder()
    pretrain(model)
    latent, value = Refiner(model).refine(airfoils(4), wanted_area=0.04)
    print(latent.shape, f"{value:.6f}")
