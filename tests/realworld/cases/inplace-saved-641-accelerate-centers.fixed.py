import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Centered(nn.Module):
    def __init__(self, dim=6, classes=3):
        super().__init__()
        self.net = nn.Linear(5, dim)
        self.centers = nn.Parameter(torch.randn(classes, dim))

    def forward(self, x):
        features = self.net(x).tanh()
        return features, torch.cdist(features, self.centers)


def main():
    torch.manual_seed(5)
    accelerator = Accelerator(cpu=True)
    model = Centered()
    opt_net = torch.optim.SGD(model.net.parameters(), lr=0.05)
    opt_centers = torch.optim.SGD([model.centers], lr=0.5)
    x = torch.randn(48, 5)
    loader = DataLoader(TensorDataset(x, x[:, :3].argmax(1)), batch_size=12)
    model, opt_net, opt_centers, loader = accelerator.prepare(model, opt_net, opt_centers, loader)
    for x, y in loader:
        features, distances = model(x)
        pull = distances.gather(1, y[:, None]).mean()
        accelerator.backward(pull, retain_graph=True)
        accelerator.backward(nn.functional.cross_entropy(-distances, y))
        opt_centers.step()
        opt_centers.zero_grad()
        opt_net.step()
        opt_net.zero_grad()


if __name__ == "__main__":
    main()
