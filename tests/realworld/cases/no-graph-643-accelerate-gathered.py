import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def mean_over_processes(accelerator, loss):
    gathered = gather_object([loss.item()])
    return torch.tensor(gathered, device=accelerator.device).mean()


def main():
    torch.manual_seed(3)
    accelerator = Accelerator(cpu=True)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 4)
    loader = DataLoader(TensorDataset(x, x.mean(1)), batch_size=8)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x).squeeze(-1), y)
        loss = mean_over_processes(accelerator, loss)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()


if __name__ == "__main__":
    main()
