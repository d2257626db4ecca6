import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(62)


class Autoencoder(nn.Module):
    def __init__(self, size=20, code=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(size, 24), nn.ReLU(), nn.Linear(24, code))
        self.decoder = nn.Sequential(nn.Linear(code, 24), nn.ReLU(), nn.Linear(24, size))

    def forward(self, x):
        code = self.encoder(x)
        return self.decoder(code), code


def spectra(n=48):
    place = torch.rand(n, 2, 1) * 20
    axis = torch.arange(20.0)
    return torch.exp(-(axis - place).pow(2) / 8).sum(dim=1)


def total_loss(model, x):
    rebuilt, code = model(x)
    return F.mse_loss(rebuilt, x) + 1e-3 * code.pow(2).mean()


def update(model, optimizer, x, part):
    loss = total_loss(model, x)
    optimizer.zero_grad(set_to_none=True)
    loss.backward(inputs=list(part.parameters()))
    optimizer.step()
    return loss.item()


model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(80):
    value = update(model, optimizer, spectra(), model)
    if step % 20 == 0:
        print(step, round(value, 5))
