import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(37)


class TextEncoder(nn.Module):
    def __init__(self, vocab=50, width=24):
        super().__init__()
        self.table = nn.Embedding(vocab, width)
        self.mix = nn.GRU(width, width, batch_first=True)

    def forward(self, vectors):
        return self.mix(vectors)[0][:, -1]


class Painter(nn.Module):
    def __init__(self, latent=32, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(latent + width + 1, 64), nn.SiLU(), nn.Linear(64, latent))

    def forward(self, x, t, condition):
        return self.net(torch.cat([x, t, condition.expand(len(x), -1)], 1))


class PromptBook:
    def __init__(self, encoder, concept):
        self.encoder, self.concept = encoder, concept
        self.known = {}

    def encode(self, prompt):
        key = tuple(prompt)
        if key in self.known:
            return self.known[key]
        rows = [self.concept if i < 0 else self.encoder.table.weight[i] for i in prompt]
        self.known[key] = self.encoder(torch.stack(rows)[None])
        return self.known[key]

    def forget(self, prompt):
        self.known.pop(tuple(prompt), None)


def noisy(x, t):
    noise = torch.randn_like(x)
    return (1 - t).sqrt() * x + t.sqrt() * noise, noise


@torch.no_grad()
def preview(book, painter, prompt, steps=5):
    x = torch.randn(2, 32)
    for t in torch.linspace(0.9, 0.1, steps):
        noise = painter(x, t.expand(2, 1), book.encode(prompt))
        x = (x - t.sqrt() * noise) / (1 - t).sqrt()
    return x.std().item()


def invert(images, prompts, steps=30):
    encoder, painter = TextEncoder().requires_grad_(False), Painter().requires_grad_(False)
    concept = nn.Parameter(encoder.table.weight[7].clone())
    book = PromptBook(encoder, concept)
    optimizer = torch.optim.AdamW([concept], lr=1e-2)
    print("preview before", round(preview(book, painter, prompts[-1]), 3))
    for step in range(steps):
        prompt = prompts[step % len(prompts)]
        t = torch.rand(len(images), 1) * 0.8 + 0.1
        x, noise = noisy(images, t)
        loss = F.mse_loss(painter(x, t, book.encode(prompt)), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        book.forget(prompt)
        if step % 10 == 9:
            print(f"step {step} loss {loss.item():.4f}")
    return concept.detach()


learned = invert(torch.randn(8, 32), [[3, -1, 9], [-1, 4], [11, 2, -1, 5]])
print("norm", round(learned.norm().item(), 3))
