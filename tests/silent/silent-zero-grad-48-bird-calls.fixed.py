import torch
import torch.nn as nn

torch.manual_seed(91)


class CallNet(nn.Module):
    def __init__(self, bands=20, species=5):
        super().__init__()
        self.norm = nn.BatchNorm1d(bands)
        self.hidden = nn.Linear(bands, 32)
        self.scores = nn.Linear(32, species)

    def forward(self, spectrum):
        h = torch.relu(self.hidden(self.norm(spectrum)))
        return self.scores(h)


def recordings(centres, n=64):
    label = torch.randint(0, len(centres), (n,))
    return centres[label] + torch.randn(n, centres.shape[1]), label


centres = 2 * torch.randn(5, 20)
net = CallNet()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for step in range(60):
    spectrum, label = recordings(centres)
    guess = net(spectrum)
    loss = criterion(guess, label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        hits = (guess.argmax(dim=1) == label).float().mean().item()
        print(step, round(loss.item(), 4), round(hits, 2))
