import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from torch import nn
from torch.nn import functional as F
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, pipeline

TEXTS = ["the cat sat", "a dog ran", "the bird sang", "a cat ran"]


def build_tokenizer():
    words = sorted({word for text in TEXTS for word in text.split()})
    model = WordLevel({word: i for i, word in enumerate(["[PAD]", "[UNK]", *words])}, unk_token="[UNK]")
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]")


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        config = BertConfig(vocab_size=20, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
        self.encoder = BertModel(config)
        self.tokenizer = build_tokenizer()
        self.extract = pipeline("feature-extraction", model=self.encoder, tokenizer=self.tokenizer, device="cpu")

    def forward(self, texts):
        tokens = [self.encoder(**self.tokenizer(text, return_tensors="pt")).last_hidden_state[0] for text in texts]
        return F.normalize(torch.stack([t.mean(0) for t in tokens]), dim=-1)


def main():
    torch.manual_seed(11)
    model = Embedder()
    optimizer = torch.optim.AdamW(model.encoder.parameters(), lr=1e-3)
    target = torch.eye(4)
    for step in range(3):
        vectors = model(TEXTS)
        loss = F.mse_loss(vectors @ vectors.T, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, round(loss.item(), 4))


if __name__ == "__main__":
    main()
