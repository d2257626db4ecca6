import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(21)

BANDS, CLASSES, PER_CLASS = 40, 4, 3


def library(count=240):
    labels = torch.arange(count) % CLASSES
    wave = torch.linspace(0, 6.28, BANDS)
    clean = torch.stack([torch.sin(wave * (k + 1)) for k in range(CLASSES)])
    return clean[labels] + 0.3 * torch.randn(count, BANDS), labels


def random_encoder(width=64):
    return nn.Sequential(nn.Linear(BANDS, width), nn.ReLU(), nn.Linear(width, width)).requires_grad_(False)


def matching_loss(encoder, real, real_labels, synthetic, synthetic_labels):
    loss = 0.0
    for k in range(CLASSES):
        target = encoder(real[real_labels == k]).mean(dim=0)
        loss = loss + F.mse_loss(encoder(synthetic[synthetic_labels == k]).mean(dim=0), target)
    return loss


def condense(real, labels, rounds=40):
    synthetic_labels = torch.arange(CLASSES).repeat_interleave(PER_CLASS)
    synthetic = (torch.randn(CLASSES * PER_CLASS, BANDS) * 0.1).requires_grad_()
    optimizer = torch.optim.SGD([synthetic], lr=5.0, momentum=0.5)
    for r in range(rounds):
        loss = matching_loss(random_encoder(), real, labels, synthetic, synthetic_labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if r % 10 == 0:
            print(f"round {r:2d}  distance {loss.item():.4f}")
    return synthetic.detach(), synthetic_labels


def nearest(samples, samples_labels, queries):
    return samples_labels[torch.cdist(queries, samples).argmin(dim=1)]


spectra, minerals = library()
small, small_labels = condense(spectra, minerals)
print("agreement", (nearest(small, small_labels, spectra) == minerals).float().mean().item())
