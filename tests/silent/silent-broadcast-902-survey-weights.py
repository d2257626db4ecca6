import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class WeightedBCE(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw = nn.BCEWithLogitsLoss(reduction="none")

    def forward(self, logits, answer, weight):
        per_person = self.raw(logits, answer)
        return (per_person * weight).mean()


def survey(n=96):
    x = torch.randn(n, 7)
    answer = (x[:, :1] + 0.5 * torch.randn(n, 1) > 0).float()
    rare = x[:, 1] > 1
    weight = torch.where(rare, torch.tensor(5.0), torch.tensor(0.5))
    return TensorDataset(x, answer, weight)


class Fit:
    def __init__(self, model, epochs):
        self.model, self.epochs = model, epochs
        self.criterion = WeightedBCE()
        self.optimizer = torch.optim.NAdam(model.parameters(), lr=2e-3)

    def __call__(self, loader):
        for epoch in range(self.epochs):
            running = 0.0
            for x, answer, weight in loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), answer, weight)
                loss.backward()
                self.optimizer.step()
                running += loss.item() * len(x)
            print(f"{epoch}: {running / len(loader.dataset):.4f}")
        return self.model


torch.manual_seed(90)
data = survey()
model = nn.Sequential(nn.Linear(7, 16), nn.Dropout(0.1), nn.ReLU(), nn.Linear(16, 1))
fit = Fit(model, 3)
fit(DataLoader(data, batch_size=24, shuffle=True))
model.eval()
x, answer, weight = data[:]
with torch.no_grad():
    logits = model(x)
    assert torch.allclose(fit.criterion(logits, answer, weight), fit.criterion.raw(logits, answer).mean() * weight.mean())
