import argparse
import math

import torch
from torch.optim import AdamW
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup, logging, set_seed

logging.set_verbosity_error()


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunk", type=int, default=12)
    parser.add_argument("--memory", type=int, default=48)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=1e-3)
    return parser.parse_args([])


def book(pages=4, words=48, vocab=40):
    steps = torch.randint(1, 4, (pages, words))
    return torch.cumsum(steps, dim=1) % vocab


class ChunkedTrainer:
    def __init__(self, model, args, total):
        self.model, self.args = model, args
        self.optimizer = AdamW(model.parameters(), lr=args.lr)
        self.scheduler = get_linear_schedule_with_warmup(self.optimizer, 2, total)

    def read(self, ids, past):
        out = self.model(input_ids=ids, past_key_values=past, labels=ids, use_cache=True)
        return out.loss, out.past_key_values

    def forget(self, past):
        if past is not None and past.get_seq_length() >= self.args.memory:
            return None
        return past

    def epoch(self, pages):
        total, past = 0.0, None
        for ids in pages.split(self.args.chunk, dim=1):
            loss, past = self.read(ids, self.forget(past))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.scheduler.step()
            self.optimizer.zero_grad()
            total += loss.item()
        return total


def main():
    args = parse_args()
    set_seed(4)
    config = GPT2Config(vocab_size=40, n_positions=64, n_embd=32, n_layer=2, n_head=2)
    trainer = ChunkedTrainer(GPT2LMHeadModel(config), args, total=8)
    for number in range(args.epochs):
        loss = trainer.epoch(book())
        print(f"epoch {number} perplexity {math.exp(loss / 4):.1f}")


if __name__ == "__main__":
    main()
