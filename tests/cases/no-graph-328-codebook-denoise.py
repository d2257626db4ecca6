import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(23)


class Quantizer(nn.Module):
    def __init__(self, codes=32, width=8):
        super().__init__()
        self.codebook = nn.Parameter(torch.randn(codes, width))

    def forward(self, z):
        with torch.no_grad():
            index = torch.cdist(z, self.codebook).argmin(-1)
        q = self.codebook[index]
        parts = {"codebook": F.mse_loss(q, z.detach()), "commit": F.mse_loss(z, q.detach())}
        return self.straight_through(z, q), index, parts

    @staticmethod
    def straight_through(z, q):
        return q + (z - q).detach()


class VQAutoencoder(nn.Module):
    def __init__(self, inputs=48, width=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, width))
        self.quantizer = Quantizer(width=width)
        self.decoder = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, inputs))

    def forward(self, x):
        q, index, parts = self.quantizer(self.encoder(x))
        return self.decoder(q), index, parts


def run(model, pairs, parameters, weights, epochs, label):
    optimizer = torch.optim.Adam(parameters, lr=3e-3)
    for epoch in range(epochs):
        used = set()
        for source, target in pairs:
            output, index, parts = model(source)
            loss = F.smooth_l1_loss(output, target)
            for name, weight in weights.items():
                loss = loss + weight * parts[name]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            used.update(index.tolist())
        print(f"{label} {epoch} loss {loss.item():.4f} codes {len(used)}")


def main():
    model = VQAutoencoder()
    clean = torch.randn(96, 6) @ torch.randn(6, 48)
    batches = clean.split(24)
    run(model, [(x, x) for x in batches], model.parameters(), {"codebook": 1.0, "commit": 0.25}, 3, "pretrain")

    for module in (model.quantizer, model.decoder):
        module.requires_grad_(False)
    noisy = [(x + 0.3 * torch.randn_like(x), x) for x in batches]
    run(model, noisy, model.encoder.parameters(), {}, 3, "denoise")


if __name__ == "__main__":
    main()
