import torch
import torch.nn as nn

torch.manual_seed(17)

CONFIG = {
    "model": {"width": 24, "depth": 3, "classes": 6},
    "finetune": {"freeze": "stem,stages.0,stages.1,", "lr": 0.01, "epochs": 3},
}


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv1d(width, width, 3, padding=1)
        self.norm = nn.GroupNorm(4, width)

    def forward(self, x):
        return x + torch.relu(self.norm(self.conv(x)))


class KeywordNet(nn.Module):
    def __init__(self, width, depth, classes):
        super().__init__()
        self.stem = nn.Conv1d(13, width, 5, padding=2)
        self.stages = nn.ModuleList(Residual(width) for _ in range(depth))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.head(x.mean(-1))


def apply_freeze(model, spec):
    patterns = [p.strip() for p in spec.split(",")]
    frozen = 0
    for name, param in model.named_parameters():
        if any(name.startswith(pattern) for pattern in patterns):
            param.requires_grad_(False)
            frozen += param.numel()
    return frozen


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


class Finetuner:
    def __init__(self, model, options):
        self.model, self.options = model, options
        self.frozen = apply_freeze(model, options["freeze"])
        self.optimizer = torch.optim.SGD(model.parameters(), lr=options["lr"], momentum=0.9)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    def fit(self, x, y):
        print("frozen values:", self.frozen)
        for epoch in range(self.options["epochs"]):
            self.model.train()
            for rows in torch.randperm(len(x)).split(16):
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x[rows]), y[rows])
                loss.backward()
                self.optimizer.step()
            print(f"epoch {epoch} loss {loss.item():.3f} acc {accuracy(self.model, x, y):.3f}")


if __name__ == "__main__":
    clips, words = torch.randn(96, 13, 40), torch.randint(0, 6, (96,))
    net = KeywordNet(**CONFIG["model"])
    Finetuner(net, CONFIG["finetune"]).fit(clips, words)
