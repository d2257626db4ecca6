import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)


class Denoiser(nn.Module):
    def __init__(self, dim=32, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim + 1, hidden), nn.SiLU(), nn.Linear(hidden, dim))

    def forward(self, x, t):
        return self.body(torch.cat([x, t.view(-1, 1).float() / 50], dim=1))


class NoisyClassifier(nn.Module):
    def __init__(self, dim=32, classes=10):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim + 1, 48), nn.SiLU(), nn.Linear(48, classes))

    def forward(self, x, t):
        return self.body(torch.cat([x, t.view(-1, 1).float() / 50], dim=1))


class GaussianDiffusion:
    def __init__(self, steps=50):
        self.steps = steps
        self.betas = torch.linspace(1e-4, 0.05, steps)
        self.alphas_bar = torch.cumprod(1 - self.betas, 0)

    def q_sample(self, x0, t, noise):
        a = self.alphas_bar[t].view(-1, 1)
        return a.sqrt() * x0 + (1 - a).sqrt() * noise

    def p_mean(self, model, x, t, cond_fn=None):
        a, beta = self.alphas_bar[t].view(-1, 1), self.betas[t].view(-1, 1)
        mean = (x - beta / (1 - a).sqrt() * model(x, t)) / (1 - beta).sqrt()
        if cond_fn is not None:
            mean = mean + beta * cond_fn(x, t)
        return mean, beta

    @torch.no_grad()
    def sample(self, model, shape, cond_fn=None):
        x = torch.randn(shape)
        for i in reversed(range(self.steps)):
            t = torch.full((shape[0],), i)
            mean, beta = self.p_mean(model, x, t, cond_fn)
            x = mean + (beta.sqrt() * torch.randn_like(x) if i else 0)
        return x


def train(diffusion, model, data, epochs=3):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        for x0 in data.split(32):
            t = torch.randint(0, diffusion.steps, (len(x0),))
            noise = torch.randn_like(x0)
            loss = F.mse_loss(model(diffusion.q_sample(x0, t, noise), t), noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        plain = diffusion.sample(model, (4, x0.shape[1]))
        print(f"epoch {epoch} loss {loss.item():.4f} sample std {plain.std().item():.3f}")


def make_guidance(classifier, label, scale=2.0):
    def cond_fn(x, t):
        x_in = x.detach().requires_grad_(True)
        with torch.enable_grad():
            log_probs = F.log_softmax(classifier(x_in, t), dim=-1)
            chosen = log_probs[:, label].sum()
        return torch.autograd.grad(chosen, x_in)[0] * scale

    return cond_fn


diffusion = GaussianDiffusion()
denoiser, classifier = Denoiser(), NoisyClassifier().eval()
train(diffusion, denoiser, torch.randn(128, 32))
guided = diffusion.sample(denoiser, (6, 32), make_guidance(classifier, label=3))
print("guided", classifier(guided, torch.zeros(6)).argmax(1).tolist())
