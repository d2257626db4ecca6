import tempfile
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel


def load_base():
    return GPT2LMHeadModel(GPT2Config(vocab_size=48, n_positions=32, n_embd=24, n_layer=2, n_head=2))


def train(model, ids, steps=3):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    for step in range(steps):
        loss = model(input_ids=ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(6)
    ids = torch.randint(0, 48, (4, 12))
    base = load_base()
    state = {name: value.clone() for name, value in base.state_dict().items()}
    model = get_peft_model(base, LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True))
    first = train(model, ids)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "adapter")
        model.save_pretrained(path)
        base = load_base()
        base.load_state_dict(state)
        model = PeftModel.from_pretrained(base, path, is_trainable=True)
    print(first, train(model, ids))


if __name__ == "__main__":
    main()
