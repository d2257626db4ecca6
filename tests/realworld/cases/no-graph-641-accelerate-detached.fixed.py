import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build_data(count=64):
    x = torch.randn(count, 5)
    return DataLoader(TensorDataset(x, x[:, 0] - x[:, 1]), batch_size=16, shuffle=True)


def main():
    torch.manual_seed(1)
    accelerator = Accelerator(cpu=True)
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, build_data())
    total = torch.zeros(())
    for epoch in range(2):
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.mse_loss(model(x).squeeze(-1), y)
                total += loss.detach().float()
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
    accelerator.print(total.item())


if __name__ == "__main__":
    main()
