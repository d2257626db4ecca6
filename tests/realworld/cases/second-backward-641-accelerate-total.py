import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(4)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = torch.randn(48, 3)
    loader = DataLoader(TensorDataset(x, x.sum(1)), batch_size=8)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(2):
        total_loss = 0
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.mse_loss(model(x).squeeze(-1), y)
                total_loss += loss
                accelerator.backward(total_loss)
                optimizer.step()
                optimizer.zero_grad()
        accelerator.print(epoch, total_loss.item() / len(loader))


if __name__ == "__main__":
    main()
