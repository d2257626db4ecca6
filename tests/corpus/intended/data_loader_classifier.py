import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


def main():
    torch.manual_seed(77)
    x = torch.randn(240, 6)
    y = x[:, :3].argmax(dim=1)
    train, val = random_split(TensorDataset(x, y), [200, 40])
    loader = DataLoader(train, batch_size=32, shuffle=True, drop_last=True)
    val_loader = DataLoader(val, batch_size=40)
    model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(4):
        model.train()
        running = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(xb), yb)
            loss.backward()
            optimizer.step()
            running += loss.item()
        model.eval()
        with torch.inference_mode():
            hits = sum((model(a).argmax(1) == b).sum().item() for a, b in val_loader)
        print(epoch, running / len(loader), hits / len(val))


if __name__ == "__main__":
    main()
