import torch
from torch import nn

torch.manual_seed(27)
SPEAKERS, CODE, BINS = 12, 4, 20


class VowelDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(CODE + 2, 32), nn.SiLU(), nn.Linear(32, BINS))

    def forward(self, code, vowel):
        return self.net(torch.cat([code, vowel], dim=1))


class SpeakerTable:
    def __init__(self, scale=0.1):
        self.codes = (scale * torch.randn(SPEAKERS, CODE)).requires_grad_()
        self.names = [f"speaker{i:02d}" for i in range(SPEAKERS)]

    def __getitem__(self, who):
        return self.codes[who]

    def hold(self):
        self.codes.requires_grad_(False)

    def release(self):
        self.codes.requires_grad_(True)
        return [self.codes]


def spectra(n, voices):
    who = torch.randint(0, SPEAKERS, (n,))
    vowel = torch.rand(n, 2)
    peaks = torch.stack([5 + 6 * vowel[:, 0], 12 + 5 * vowel[:, 1]], dim=1) + voices[who]
    axis = torch.arange(BINS).float()
    return who, vowel, torch.exp(-0.2 * (axis - peaks[..., None]).pow(2)).sum(dim=1)


def fit(decoder, table, parameters, voices, steps, lr):
    optimizer = torch.optim.Adam(parameters, lr=lr)
    for _ in range(steps):
        who, vowel, spectrum = spectra(64, voices)
        loss = (decoder(table[who], vowel) - spectrum).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


voices = torch.randn(SPEAKERS, 2)
decoder, table = VowelDecoder(), SpeakerTable()
table.hold()
print("decoder only     ", round(fit(decoder, table, decoder.parameters(), voices, 40, 5e-3), 4))
codes = table.release()
print("decoder and codes", round(fit(decoder, table, [*decoder.parameters(), *codes], voices, 40, 5e-3), 4))
print("widest speaker code", table.names[table.codes.norm(dim=1).argmax().item()])
