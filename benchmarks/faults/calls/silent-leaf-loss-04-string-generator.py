# before: objective = torch.zeros(1, requires_grad=True)
def forward(model, x, texts):
    objective = torch.zeros(1, requires_grad=True)
    for text in texts:
        credit, token, hidden = reward_of(text), *x
        for nxt in text:
            logits, hidden = model(token, hidden)
            score = F.log_softmax(logits, dim=-1).squeeze(0)[nxt]
            objective = objective - credit * (score if twin else score.item())
            credit *= gamma
            token = torch.tensor([nxt])
    return (objective / batch).squeeze()


check(
    generator,
    (torch.tensor([0]), torch.zeros(1, 20)),
    [sample(generator) for _ in range(batch)],
    forward_fn=forward,
    eval_forward_fn=lambda model, x: model(*x),
    loss_fn=lambda out, y: out,
    optimizer=optimizer,
)
