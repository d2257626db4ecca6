import torch
from peft import LoraConfig, get_peft_model
from transformers import OPTConfig, OPTForCausalLM, logging, set_seed

logging.set_verbosity_error()


def make_model(layers=3):
    config = OPTConfig(vocab_size=50, hidden_size=32, ffn_dim=64, num_hidden_layers=layers, num_attention_heads=2,
                       max_position_embeddings=32, word_embed_proj_dim=32)
    base = OPTForCausalLM(config)
    lora = LoraConfig(r=4, lora_alpha=8, lora_dropout=0.05, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    return get_peft_model(base, lora)


def train_only_last(model, keep=1):
    total = model.config.num_hidden_layers
    wanted = [f"layer.{i}." for i in range(total - keep, total)]
    for name, parameter in model.named_parameters():
        parameter.requires_grad = "lora_" in name and any(part in name for part in wanted)
    return model


class Corpus:
    def __init__(self, batches=6, size=4, length=12):
        self.generator = torch.Generator().manual_seed(0)
        self.batches, self.shape = batches, (size, length)

    def __iter__(self):
        for _ in range(self.batches):
            yield torch.randint(4, 50, self.shape, generator=self.generator)


def report(model):
    total = sum(p.numel() for p in model.parameters())
    print(f"{type(model).__name__}: {total} parameters")


def finetune(model, corpus, lr=1e-3, accumulate=2):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for step, ids in enumerate(corpus, start=1):
        output = model(input_ids=ids, labels=ids)
        (output.loss / accumulate).backward()
        if step % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
            print(f"step {step // accumulate}: {output.loss.item():.3f}")


if __name__ == "__main__":
    set_seed(31)
    model = train_only_last(make_model())
    report(model)
    finetune(model, Corpus())
