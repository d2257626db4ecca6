import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel


def load_base():
    return GPT2LMHeadModel(GPT2Config(vocab_size=48, n_positions=32, n_embd=24, n_layer=2, n_head=2))


def fine_tune(model, loader, epochs=2):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        for ids in loader:
            loss = model(input_ids=ids, labels=ids).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, round(loss.item(), 4))


def main():
    torch.manual_seed(17)
    base = prepare_model_for_kbit_training(load_base(), use_gradient_checkpointing=False)
    adapted = get_peft_model(base, LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True))
    fine_tune(adapted.train(), DataLoader(torch.randint(0, 48, (16, 10)), batch_size=8))


if __name__ == "__main__":
    main()
