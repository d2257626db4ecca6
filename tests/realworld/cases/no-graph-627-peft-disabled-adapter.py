import torch
from peft import LoraConfig, get_peft_model
from torch.nn import functional as F
from transformers import GPT2Config, GPT2LMHeadModel


def load_base():
    return GPT2LMHeadModel(GPT2Config(vocab_size=48, n_positions=32, n_embd=24, n_layer=2, n_head=2))


def log_probs(model, ids):
    logits = model(input_ids=ids).logits[:, :-1]
    return -F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none").view(len(ids), -1).sum(1)


def preference_loss(model, chosen, rejected, beta=0.1):
    with model.disable_adapter():
        reference = log_probs(model, chosen) - log_probs(model, rejected)
        policy = log_probs(model, chosen) - log_probs(model, rejected)
    return -F.logsigmoid(beta * (policy - reference)).mean()


def main():
    torch.manual_seed(7)
    model = get_peft_model(load_base(), LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    for step in range(3):
        chosen, rejected = torch.randint(0, 48, (2, 4, 10))
        loss = preference_loss(model, chosen, rejected)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, round(loss.item(), 4))


if __name__ == "__main__":
    main()
