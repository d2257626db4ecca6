# before: optimizer.zero_grad()
check(
    judge,
    real,
    forward_fn=lambda model, x, y: slope_penalty(model, x, fake),
    eval_forward_fn=lambda model, x: model(x),
    loss_fn=lambda out: weight * out,
    optimizer=optimizer,
)
