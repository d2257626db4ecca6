import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel


def load_base():
    return GPT2LMHeadModel(GPT2Config(vocab_size=48, n_positions=32, n_embd=24, n_layer=2, n_head=2))


def prepare_for_low_precision(model):
    for parameter in model.parameters():
        parameter.requires_grad = False
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.to(torch.float32)
    return model


def build():
    model = load_base()
    config = LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True)
    model = get_peft_model(model, config)
    return prepare_for_low_precision(model)


def main():
    torch.manual_seed(9)
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        ids = torch.randint(0, 48, (4, 12))
        loss = model(input_ids=ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
