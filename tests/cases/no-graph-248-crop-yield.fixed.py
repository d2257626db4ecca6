import torch
from torch import nn


class YieldModel(nn.Module):
    def __init__(self, weather=6, soil=4, width=16):
        super().__init__()
        self.weather = nn.Linear(weather, width)
        self.soil = nn.Linear(soil, width)
        self.output = nn.Sequential(nn.ReLU(), nn.Linear(width, 1))

    def forward(self, weather, soil):
        return self.output(self.weather(weather) + self.soil(soil)).squeeze(1)


def region(n, shift):
    weather, soil = torch.randn(n, 6), torch.randn(n, 4)
    tons = 4 + weather[:, 0] + 0.5 * soil[:, 0] * soil[:, 1] + shift
    return weather, soil, tons


def fit(model, data, parameters, epochs, lr):
    optimizer = torch.optim.Adam(parameters, lr=lr)
    weather, soil, tons = data
    for epoch in range(epochs):
        for idx in torch.randperm(len(tons)).split(32):
            loss = nn.functional.mse_loss(model(weather[idx], soil[idx]), tons[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


def only_output(model):
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.output.requires_grad_(True)
    return model.output.parameters()


def error(model, data):
    with torch.inference_mode():
        return (model(data[0], data[1]) - data[2]).abs().mean().item()


def main():
    torch.manual_seed(26)
    north, south = region(320, 0.0), region(96, 1.5)
    model = YieldModel()
    print("north loss", round(fit(model, north, model.parameters(), 8, 0.01), 4))
    print("south before", round(error(model, south), 3))
    print("south loss", round(fit(model, south, only_output(model), 8, 0.02), 4))
    print("south after", round(error(model, south), 3))


if __name__ == "__main__":
    main()
