import warnings

import timm
import torch
from timm.data import Mixup
from timm.loss import SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import AverageMeter, ModelEmaV3, accuracy
from torch import nn

warnings.filterwarnings("ignore")


class PlantModel(nn.Module):
    def __init__(self, arch, classes):
        super().__init__()
        self.backbone = timm.create_model(arch, pretrained=False, num_classes=0, drop_path_rate=0.05)
        self.head = nn.Linear(self.backbone.num_features, classes)
        self.embedding = None

    def forward(self, images):
        self.embedding = self.backbone(images)
        return self.head(self.embedding)


def flops_probe(model, size=32):
    shapes = []
    handles = [m.register_forward_hook(lambda m, i, o: shapes.append(tuple(o.shape))) for m in model.modules()
               if isinstance(m, nn.Conv2d)]
    model(torch.rand(2, 3, size, size))
    for handle in handles:
        handle.remove()
    return len(shapes)


def loader(batches, size, classes):
    for _ in range(batches):
        yield torch.rand(size, 3, 32, 32), torch.randint(0, classes, (size,))


def train_one_epoch(epoch, model, ema, optimizer, mixup, criterion, classes):
    losses, top1 = AverageMeter(), AverageMeter()
    for images, target in loader(2, 4, classes):
        mixed, soft = mixup(images, target)
        output = model(mixed)
        loss = criterion(output, soft)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
        losses.update(loss.item(), len(images))
        top1.update(accuracy(output.detach(), target, topk=(1,))[0].item(), len(images))
    print(f"epoch {epoch} loss {losses.avg:.3f} top1 {top1.avg:.1f}")


def main():
    torch.manual_seed(0)
    classes = 4
    model = PlantModel("test_efficientnet", classes)
    print("convolutions", flops_probe(model))
    ema = ModelEmaV3(model, decay=0.99)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
    scheduler = CosineLRScheduler(optimizer, t_initial=2)
    mixup = Mixup(mixup_alpha=0.4, num_classes=classes)
    for epoch in range(2):
        train_one_epoch(epoch, model, ema, optimizer, mixup, SoftTargetCrossEntropy(), classes)
        scheduler.step(epoch + 1)


if __name__ == "__main__":
    main()
