import torch
from torch.nn import functional as F
from transformers import GPT2Config, GPT2LMHeadModel


def load_base():
    return GPT2LMHeadModel(GPT2Config(vocab_size=48, n_positions=32, n_embd=24, n_layer=2, n_head=2))


def reward(tokens):
    return (tokens % 2 == 0).float().mean(dim=1)


def policy_loss(model, prompts):
    out = model.generate(
        prompts,
        attention_mask=torch.ones_like(prompts),
        max_new_tokens=6,
        do_sample=True,
        output_scores=True,
        return_dict_in_generate=True,
        pad_token_id=0,
        eos_token_id=47,
    )
    tokens = out.sequences[:, prompts.shape[1] :]
    scores = torch.stack(out.scores, dim=1)
    log_probs = scores.log_softmax(-1).gather(2, tokens[:, : scores.shape[1], None]).squeeze(2).sum(1)
    gain = reward(tokens)
    return -((gain - gain.mean()) * log_probs).mean()


def main():
    torch.manual_seed(10)
    model = load_base()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(2):
        prompts = torch.randint(1, 47, (6, 4))
        loss = policy_loss(model, prompts)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
