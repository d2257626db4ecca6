# before: loss = next_token_loss(model, tokens)
check(
    model,
    tokens[:, :-1],
    tokens[:, 1:],
    loss_fn=lambda out, y: F.cross_entropy(out.flatten(0, 1), y.flatten()),
    optimizer=optimizer,
)
