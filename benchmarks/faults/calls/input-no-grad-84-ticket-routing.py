# before: noise = worst_noise(
check(
    model,
    tokens,
    queues,
    forward_fn=lambda model, x, y: (model(x), model(x, worst_noise(model, x, y, size))),
    eval_forward_fn=lambda model, x: model(x),
    loss_fn=lambda out, y: 0.5 * (F.cross_entropy(out[0], y) + F.cross_entropy(out[1], y)),
    optimizer=optimizer,
)
