# before: residual = equation(
t, x, u = sampler.known()
check(
    net,
    (t, x),
    u,
    forward_fn=lambda model, x, y: (equation(model, *sampler.collocation()), model(*x)),
    eval_forward_fn=lambda model, x: model(*x),
    loss_fn=lambda out, y: out[0].pow(2).mean() + 4 * nn.functional.mse_loss(out[1], y),
    optimizer=optimizer,
)
