# before: optimizer.zero_grad()
check(
    judge,
    real,
    forward_fn=lambda model, x, y: (model(fake).mean() - model(x).mean(), slope_penalty(model, x, fake)),
    eval_forward_fn=lambda model, x: model(x),
    loss_fn=lambda out: out[0] + weight * out[1],
    optimizer=optimizer,
)
