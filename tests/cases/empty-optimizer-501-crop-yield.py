import torch
import torch.nn.functional as F
from torch import nn


class YieldNet(nn.Module):
    def __init__(self, n_soil=10, n_weather=4, width=24):
        super().__init__()
        self.soil = nn.Sequential(nn.Linear(n_soil, width), nn.ReLU())
        self.weather = nn.GRU(n_weather, width, batch_first=True)
        self.head = nn.Linear(2 * width, 1)

    def forward(self, soil, weather):
        _, state = self.weather(weather)
        return self.head(torch.cat([self.soil(soil), state[-1]], dim=1)).squeeze(1)


def fields(count, seed):
    generator = torch.Generator().manual_seed(seed)
    soil = torch.randn(count, 10, generator=generator)
    weather = torch.randn(count, 20, 4, generator=generator)
    return soil, weather, soil[:, 0] + weather[:, :, 1].mean(1)


def summary(model, parameters):
    tensors = count = 0
    for p in parameters:
        tensors += 1
        count += p.numel()
    print(f"{type(model).__name__}: {count} weights in {tensors} tensors")


def make_optimizer(model, lr):
    parameters = filter(lambda p: p.requires_grad, model.parameters())
    summary(model, parameters)
    return torch.optim.Adam(parameters, lr=lr)


def main():
    torch.manual_seed(7)
    model = YieldNet()
    optimizer = make_optimizer(model, lr=3e-3)
    soil, weather, target = fields(128, seed=1)
    for epoch in range(5):
        for rows in torch.randperm(len(soil)).split(32):
            loss = F.mse_loss(model(soil[rows], weather[rows]), target[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}  mse {loss.item():.4f}")


if __name__ == "__main__":
    main()
