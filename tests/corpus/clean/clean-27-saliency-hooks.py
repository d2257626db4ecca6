import torch
import torch.nn as nn
import torch.nn.functional as F


class GradCam:
    def __init__(self, model, layer):
        self.model = model
        self.activation = self.gradient = None
        self.handle = layer.register_forward_hook(self.remember)

    def remember(self, module, inputs, output):
        self.activation = output
        if output.requires_grad:
            output.register_hook(self.take)

    def take(self, grad):
        self.gradient = grad.detach()

    def __call__(self, image, label):
        self.model.zero_grad()
        score = self.model(image)[torch.arange(len(image)), label].sum()
        score.backward()
        weights = self.gradient.mean(dim=(2, 3), keepdim=True)
        return F.relu((weights * self.activation.detach()).sum(dim=1))

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.handle.remove()


def smooth_grad(model, image, label, draws=4, sigma=0.1):
    total = torch.zeros_like(image)
    for _ in range(draws):
        noisy = (image + sigma * torch.randn_like(image)).requires_grad_()
        score = model(noisy).gather(1, label.unsqueeze(1)).sum()
        total += torch.autograd.grad(score, noisy)[0].abs()
    return total / draws


class Stats:
    def __init__(self, model):
        self.norms = {}
        for name, parameter in model.named_parameters():
            parameter.register_post_accumulate_grad_hook(self.note(name))

    def note(self, name):
        def hook(parameter):
            self.norms[name] = parameter.grad.norm().item()

        return hook


def main():
    torch.manual_seed(12)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)
    )
    stats = Stats(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    images, labels = torch.rand(16, 3, 12, 12), torch.randint(0, 4, (16,))
    for step in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()
        print(step, max(stats.norms.values()))
    model.eval()
    with GradCam(model, model[2]) as cam:
        heat = cam(images[:2], labels[:2])
    print(heat.shape, smooth_grad(model, images[:2], labels[:2]).mean().item())


main()
