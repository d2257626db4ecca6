import torch
from torch import nn

torch.manual_seed(50)
STEPS, PITCHES = 12, 8


class TuneVAE(nn.Module):
    def __init__(self, latent=5, hidden=24):
        super().__init__()
        self.read = nn.GRU(PITCHES, hidden, batch_first=True)
        self.mean = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)
        self.write = nn.Sequential(nn.Linear(latent, 48), nn.ELU(), nn.Linear(48, STEPS * PITCHES))

    def forward(self, tune):
        _, h = self.read(tune)
        mean, logvar = self.mean(h[-1]), self.logvar(h[-1])
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        return self.write(z).view(-1, STEPS, PITCHES), mean, logvar


def reconstruction(logits, tune):
    return nn.functional.cross_entropy(logits.flatten(0, 1), tune.argmax(dim=-1).flatten())


def divergence(mean, logvar):
    return -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp(), dim=1).mean()


def elbo(model, tune, beta):
    logits, mean, logvar = model(tune)
    rec = reconstruction(logits, tune)
    kl = divergence(mean, logvar)
    return rec + beta * kl, rec


def tunes(n):
    start = torch.randint(0, PITCHES, (n, 1))
    walk = torch.randint(-1, 2, (n, STEPS)).cumsum(dim=1)
    return nn.functional.one_hot((start + walk) % PITCHES, PITCHES).float()


def warm_up(epoch, full=0.2, over=3):
    return full * min(1.0, epoch / over)


model = TuneVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
library = tunes(192)
for epoch in range(5):
    for batch in library[torch.randperm(len(library))].split(32):
        loss, rec = elbo(model, batch, warm_up(epoch))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    print(f"epoch {epoch}  loss {loss.item():.3f}  reconstruction {rec.item():.3f}")
