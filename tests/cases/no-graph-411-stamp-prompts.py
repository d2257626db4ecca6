import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(411)


class DualEncoder(nn.Module):
    def __init__(self, vocab=30, width=16, pixels=48):
        super().__init__()
        self.words = nn.Embedding(vocab, width)
        self.mixer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True)
        self.image = nn.Linear(pixels, width)

    @torch.inference_mode()
    def encode_text(self, embedded):
        return F.normalize(self.mixer(embedded).mean(dim=1), dim=-1)

    @torch.no_grad()
    def encode_image(self, images):
        return F.normalize(self.image(images), dim=-1)


class PromptLearner(nn.Module):
    def __init__(self, encoder, class_tokens, length=4):
        super().__init__()
        self.context = nn.Parameter(torch.randn(length, encoder.words.embedding_dim) * 0.1)
        self.register_buffer("names", encoder.words(class_tokens).detach())

    def forward(self):
        prefix = self.context.expand(len(self.names), -1, -1)
        return torch.cat([prefix, self.names], dim=1)


def scores(encoder, learner, images, temperature=0.1):
    text = encoder.encode_text(learner())
    return encoder.encode_image(images) @ text.t() / temperature


def main():
    encoder = DualEncoder().requires_grad_(False)
    learner = PromptLearner(encoder, torch.randint(0, 30, (3, 2)))
    optimizer = torch.optim.SGD(learner.parameters(), lr=0.1, momentum=0.9)
    labels = torch.randint(0, 3, (48,))
    images = torch.randn(48, 48) * 0.3 + torch.randn(3, 48)[labels]
    for epoch in range(4):
        for x, y in zip(images.split(16), labels.split(16)):
            loss = F.cross_entropy(scores(encoder, learner, x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


main()
