import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def evaluate(accelerator, model, loader):
    torch.set_grad_enabled(False)
    model.eval()
    right = count = 0
    for x, y in loader:
        guess = accelerator.gather_for_metrics(model(x).argmax(-1))
        right += (guess == accelerator.gather_for_metrics(y)).sum().item()
        count += len(guess)
    return right / count


def train_one_epoch(accelerator, model, optimizer, loader):
    model.train()
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


def main():
    torch.manual_seed(2)
    accelerator = Accelerator(cpu=True)
    x = torch.randn(96, 6)
    data = TensorDataset(x, x[:, :3].argmax(-1))
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data, 16, shuffle=True))
    test = accelerator.prepare(DataLoader(data, 32))
    for epoch in range(2):
        train_one_epoch(accelerator, model, optimizer, loader)
        accelerator.print(evaluate(accelerator, model, test))


if __name__ == "__main__":
    main()
