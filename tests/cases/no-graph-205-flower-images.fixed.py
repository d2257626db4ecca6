import time

import torch
from torch import nn

torch.manual_seed(0)

KINDS = 3


def make_split(count):
    kind = torch.randint(0, KINDS, (count,))
    petals = torch.zeros(count, 3, 12, 12)
    for i, k in enumerate(kind.tolist()):
        petals[i, k] += 0.7
    return torch.utils.data.TensorDataset(petals + 0.3 * torch.randn_like(petals), kind)


datasets = {"train": make_split(96), "val": make_split(32)}
loaders = {x: torch.utils.data.DataLoader(datasets[x], batch_size=16, shuffle=x == "train") for x in datasets}
sizes = {x: len(datasets[x]) for x in datasets}


def soft_targets(labels, smooth=0.1):
    return nn.functional.one_hot(labels, KINDS).float() * (1 - smooth) + smooth / KINDS


def train_model(model, criterion, optimizer, scheduler, num_epochs=3):
    since = time.time()
    best_acc = 0.0
    for epoch in range(num_epochs):
        for phase in ["train", "val"]:
            model.train(phase == "train")
            running_loss, running_corrects = 0.0, 0
            for inputs, labels in loaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    _, preds = torch.max(outputs, 1)
                    loss = criterion(outputs, soft_targets(labels))
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += torch.sum(preds == labels.data)
            if phase == "train":
                scheduler.step()
            epoch_acc = running_corrects.double() / sizes[phase]
            print(f"{phase} loss {running_loss / sizes[phase]:.4f} acc {epoch_acc:.4f}")
            if phase == "val" and epoch_acc > best_acc:
                best_acc = epoch_acc.item()
    print(f"done in {time.time() - since:.0f}s, best {best_acc:.4f}")
    return model


net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, KINDS))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
train_model(net, nn.CrossEntropyLoss(), opt, torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5))
